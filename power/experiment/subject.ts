import type { SpikedError } from '../../client/protocol/errors.js';
import type { Environment, MachineState } from './record.js';

/** What is measured: whoever runs generations, and the machine that they run on. */
export interface Subject {
  /**
   * Runs an arm once, EOS ignored, and returns what came, also when it ended early. Never throws.
   *
   * @param tokens  to generate
   * @param onToken told the number of tokens so far
   */
  generate(
    arm: string,
    tokens: number,
    signal: AbortSignal,
    onToken?: (count: number) => void,
  ): Promise<Generated>;
  /** What holds from one start of the program to its end. May start other programs: never during a run. */
  describe(): Promise<Environment>;
  /** Cheap; `other_load` is since the call before. */
  machine(): Promise<MachineState>;
  /**
   * Brings an arm back whose generation failed.
   *
   * @throws SpikedError why it cannot
   */
  revive(arm: string): Promise<void>;
}

/** Times: ns of CLOCK_MONOTONIC. */
export interface Generated {
  readonly sentNs: bigint;
  readonly answeredNs: bigint;
  /** When each id was known, ascending. */
  readonly marksNs: readonly bigint[];
  readonly ids: readonly number[];
  readonly requests: number;
  /** Why there are fewer tokens than asked for. */
  readonly failure: SpikedError | null;
}
