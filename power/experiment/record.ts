/**
 * What an experiment leaves in its folder, so that `analyze` needs nothing else:
 *
 *     plan.json          the plan, every default filled in
 *     journal.jsonl      one JournalEntry a line, appended and synced; a torn last line is dropped
 *     parts/001/trace/   a trace (trace/header.ts); each start of the program is a part, since the monotonic clock dies with the machine
 *     runs/B-S.csv       token marks of block B, slot S (`seq,t_ns`), written when the run ended
 *     result.json report.md *.svg    made by `analyze` and `report`, from the above only
 */
import type { Reason } from '../window/figures.js';

export type JournalEntry =
  | { readonly kind: 'part'; readonly part: number; readonly at: string; readonly environment: unknown }
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
}

export interface MachineState {
  readonly celsius: number | null;
  readonly governors: readonly string[];
  readonly clocks_mhz: readonly number[];
  readonly throttled: boolean;
  /** CPU share that others used, 0 to 1 of one core. */
  readonly other_load: number | null;
}
