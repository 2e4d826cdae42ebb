/** What `analyze` finds in an experiment's folder; result.json is this and nothing else. */
import type { Environment, MachineState } from '../experiment/record.js';
import type { MeterIdentity, Rule } from '../meters/meter.js';
import type { Reason, Value, WindowFigures } from '../window/figures.js';
import type { UpdatePeriod } from '../trace/update-period.js';
import type { Comparison } from '../statistics/verdict.js';

export type WindowName = 'decode' | 'full';

export interface Result {
  readonly format: 'spiked-energy-result';
  readonly version: 1;
  readonly name: string;
  /** Something in it did not come from a meter. */
  readonly simulated: boolean;
  /** The window that the verdicts are about. */
  readonly window: WindowName;
  readonly ended: 'complete' | 'aborted' | 'failed' | 'unfinished';
  readonly verdicts: readonly CandidateResult[];
  readonly arms: readonly ArmResult[];
  readonly runs: readonly RunResult[];
  readonly blocks: readonly BlockResult[];
  readonly idles: readonly IdleResult[];
  readonly parts: readonly PartResult[];
  readonly method: Method;
  /** What is inside the number, in the words of the plan. */
  readonly boundary: string;
  readonly note: string;
  /** For whoever reads the figures: whole sentences. */
  readonly notes: readonly string[];
  readonly files: readonly RawFile[];
}

/** A candidate against the baseline. The verdict is that of the plan's window and J/token; the others are beside it. */
export interface CandidateResult {
  readonly candidate: string;
  readonly baseline: string;
  readonly verdict: Comparison;
  readonly others: readonly { readonly window: WindowName; readonly comparison: Comparison }[];
  /** Pairs of the blocks that count whose two runs gave the same ids. */
  readonly pairs_with_equal_ids: number;
  readonly pairs: number;
}

/** Means over the valid runs of used blocks. */
export interface ArmResult {
  readonly arm: string;
  readonly runs: number;
  /** With a figure. */
  readonly valid_runs: number;
  /** In a mean. */
  readonly used_runs: number;
  readonly j_per_token: number | null;
  readonly net_j_per_token: number | null;
  readonly paper_trimmed_j_per_token: number | null;
  readonly mean_watts: number | null;
  readonly tokens_per_second: number | null;
}

export interface RunResult {
  readonly part: number;
  readonly block: number;
  readonly attempt: number;
  readonly slot: number;
  readonly arm: string;
  /** In the verdict. */
  readonly used: boolean;
  readonly tokens: number;
  readonly requests: number;
  readonly ids_sha256: string;
  /** File of the token marks, relative to the folder. */
  readonly marks: string;
  /** Equal to those of the run of the other arm in the same pair; null when that one is not there. */
  readonly ids_equal: boolean | null;
  /** Idle power taken off for the net figures. */
  readonly idle: { readonly watts: number; readonly u_watts: number; readonly drifted: boolean } | null;
  readonly from_ns: string;
  readonly to_ns: string;
  readonly decode: Window;
  readonly full: Window;
  readonly before: MachineState;
  readonly after: MachineState;
  readonly warnings: readonly string[];
}

/** A window's figures with its ends before trimming, ns of the part's monotonic clock. */
export interface Window {
  readonly from_ns: string;
  readonly to_ns: string;
  readonly figures: WindowFigures;
}

/** A block as it was tried once; its effect is in the verdict of its candidate. */
export interface BlockResult {
  readonly block: number;
  readonly attempt: number;
  readonly part: number;
  readonly candidate: string;
  /** Arms in the order of their runs. */
  readonly order: readonly string[];
  /** In the verdict. */
  readonly used: boolean;
  /** Why it is not, a sentence each. */
  readonly why: readonly string[];
}

export interface IdleResult {
  readonly part: number;
  readonly after_block: number;
  readonly from_ns: string;
  readonly to_ns: string;
  readonly watts: Value | null;
  readonly samples: number;
  /** Why there is no figure. */
  readonly reasons: readonly Reason[];
}

/** A start of the program, with the meter as its trace says. */
export interface PartResult {
  readonly part: number;
  /** UTC. */
  readonly at: string;
  readonly meter: MeterIdentity;
  readonly rule: Rule;
  readonly resolution_watts: number;
  /** Greatest error as a share of the reading; null when nobody says. */
  readonly accuracy: number | null;
  readonly nominal_period_s: number;
  /** Between two new values, as measured over the trace: what everything was computed with. */
  readonly update_period_s: number;
  /** What that was measured from; `profile` when it could not be. */
  readonly update_period_basis: UpdatePeriod['basis'];
  /** Median time between two samples, new values or not. */
  readonly sample_interval_s: number | null;
  readonly samples: number;
  readonly unusable_samples: number;
  readonly warm_up: { readonly seconds: number; readonly steady: boolean; readonly watts_per_minute: number | null } | null; // prettier-ignore
  readonly ended: 'complete' | 'aborted' | 'failed' | 'unfinished';
  readonly why: string | null;
  readonly environment: Environment;
}

export interface Method {
  readonly tokens: number | null;
  readonly tokens_from: 'plan' | 'pilot';
  readonly trim_s: number;
  readonly latency_s: number;
  readonly blocks: number;
  readonly seed: number;
  readonly idle_s: number;
  readonly cool_down_s: number;
}

export interface RawFile {
  /** Relative to the folder. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}
