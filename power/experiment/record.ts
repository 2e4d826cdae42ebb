/**
 * What an experiment leaves in its folder, so that `analyze` needs nothing else:
 *
 *     plan.json          the plan, every default filled in
 *     journal.jsonl      one JournalEntry a line, appended and synced; a torn last line is dropped
 *     parts/001/trace/   a trace (trace/header.ts); each start of the program is a part, since the monotonic clock dies with the machine
 *     runs/B-S.csv       token marks of block B, slot S (`seq,t_ns`), written when the run ended; `B-S-A` in the block's attempt A, from 2
 *     result.json report.md *.svg    made by `analyze` and `report`, from the above only
 *
 * Blocks count from 1 through the whole experiment; which candidate a block is of, its runs say. A block that was broken off has an entry
 * `done: false` (or none, when the program was killed) and is done again whole under the same number: what counts is a block's last
 * entry, and of its runs those after the entry before that. A run of an attempt that does not count is kept and listed, never averaged.
 */
import type { Reason } from '../window/figures.js';

export type JournalEntry =
  | PartEntry
  | PilotEntry
  | IdleEntry
  | RunEntry
  | {
      readonly kind: 'warm-up';
      readonly part: number;
      readonly seconds: number;
      readonly steady: boolean;
      readonly watts_per_minute: number | null;
    }
  | {
      readonly kind: 'block';
      readonly part: number;
      readonly block: number;
      readonly done: boolean;
      readonly why?: string;
    }
  | {
      readonly kind: 'end';
      readonly part: number;
      readonly how: 'complete' | 'aborted' | 'failed';
      readonly why?: string;
    };

/** A start of the program. */
export interface PartEntry {
  readonly kind: 'part';
  readonly part: number;
  /** UTC. */
  readonly at: string;
  /** SHA-256 of plan.json. */
  readonly plan_sha256: string;
  readonly environment: Environment;
}

/** How fast the arms are, and the tokens of every run from here on; again only where the runs before were too short and no block is done. */
export interface PilotEntry {
  readonly kind: 'pilot';
  readonly part: number;
  readonly tokens: number;
  readonly tokens_per_second: Readonly<Record<string, number>>;
}

/** What the figures depend on and no run changes. Null is unknown. */
export interface Environment {
  /** Of the program that runs the experiment. */
  readonly version: string;
  readonly commit: string;
  readonly node: string;
  readonly machine: {
    readonly board: string | null;
    readonly cpu: string | null;
    readonly cores: number;
    readonly memory_bytes: number;
    readonly os: string;
    readonly kernel: string;
  };
  /** One a daemon that was used; `arms` names those that it serves. */
  readonly daemons: readonly {
    readonly arms: readonly string[];
    readonly own: boolean;
    readonly version: string;
    readonly commit: string;
    /** Of its native addon; null for a daemon that was not started by the experiment. */
    readonly addon_sha256: string | null;
    readonly isa: string;
    readonly threads: number;
    readonly cpus: string;
    readonly activations: string;
    readonly loading: string;
    readonly model: {
      readonly name: string;
      readonly path: string;
      /** Of the whole file; null when it cannot be read from here. */
      readonly file_sha256: string | null;
      readonly data_sha256: string;
      readonly weights: string;
      readonly parameters: number;
    };
    /** Tokens that a request may reach: beyond the model's own maximum where it has a sliding window. */
    readonly context_limit: number;
    readonly max_context: number;
  }[];
  readonly warnings: readonly string[];
}

/** Nanoseconds are decimal strings: JSON's numbers are too short. */
export interface IdleEntry {
  readonly kind: 'idle';
  readonly part: number;
  /** After which block it was taken; 0 is before the first. */
  readonly after_block: number;
  readonly from_ns: string;
  readonly to_ns: string;
}

export interface RunEntry {
  readonly kind: 'run';
  readonly part: number;
  readonly block: number;
  /** Place in the block, from 0. */
  readonly slot: number;
  readonly arm: string;
  /** The request was sent; the last answer came. */
  readonly sent_ns: string;
  readonly answered_ns: string;
  readonly tokens: number;
  /** Requests that the run took; 1 unless the context is smaller than the count. */
  readonly requests: number;
  readonly ids_sha256: string;
  readonly marks: string;
  /** Governor, clocks, temperatures, throttling, load: before and after. */
  readonly before: MachineState;
  readonly after: MachineState;
  /** What the run itself saw: the generation failed, the clocks fell, … */
  readonly reasons: readonly Reason[];
  /** Beside those: it began warmer than the first run, others used the machine, … */
  readonly warnings?: readonly string[];
}

export interface MachineState {
  readonly celsius: number | null;
  readonly governors: readonly string[];
  readonly clocks_mhz: readonly number[];
  readonly throttled: boolean;
  /** CPU share that others used, 0 to 1 of one core. */
  readonly other_load: number | null;
}
