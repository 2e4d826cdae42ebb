import type { NativeSession } from '../../native/host/index.js';
import type { LoadedModel } from '../models/loaded-model.js';

/** How a generation leaves its sequence: `unchanged` when nothing was computed, `broken` when nobody knows where the engine stands. */
export type Aftermath = { tokens: readonly number[]; seed: bigint } | 'unchanged' | 'broken';

/** The sequence that a generation adds to. */
export interface Sequence {
  /** Others go on from where the generation ends: the engine must stand there and not behind it. */
  readonly goesOn: boolean;
  /** Called once at most, before the first step; `fed` of the prompt's ids are in it already. */
  begin(): { session: NativeSession; fed: number };
  /** Called once, when the generation is over. */
  end(after: Aftermath): void;
}

/** A sequence for one generation only. */
export class FreshSequence implements Sequence {
  readonly goesOn = false;
  private session: NativeSession | null = null;

  constructor(private readonly model: LoadedModel) {}

  begin(): { session: NativeSession; fed: number } {
    this.session = this.model.native.openSession();
    return { session: this.session, fed: 0 };
  }

  end(): void {
    // The engine may be at a step that nobody waits for.
    this.session?.cancel();
    this.session?.close();
    this.session = null;
  }
}
