/** The contract of one run's figures: what goes in, what comes out. energy-method.md, sections 2 and 5. */
import type { MeterTraits, Rule, Sample } from '../meters/meter.js';

/** Reasons that make a window's energy null, fixed before any run. Each has one row in docs/energy.md. */
export const invalidReasons = [
  'no-tokens',
  'too-few-tokens',
  'window-too-short',
  'too-few-samples',
  'coverage',
  'gap',
  'meter-lost',
  'saturated',
  'negative-power',
  'stuck',
  'checksum-errors',
  'suspended',
  'aborted',
  'generation-failed',
  'unequal-tokens',
  'ids-differ',
  'throttled',
] as const;
export type InvalidReason = (typeof invalidReasons)[number];

export interface Reason {
  readonly reason: InvalidReason;
  /** One sentence with the figures: found, needed, and what to do. */
  readonly text: string;
}

/** A window of the trace, before its samples. Times: ns of CLOCK_MONOTONIC. */
export interface PowerSpec {
  readonly traits: MeterTraits;
  /** As measured over the trace, ns. */
  readonly updatePeriodNs: number;
  /** Delay of a sample behind the machine's clock, from `calibrate` or the plan, ns. */
  readonly latencyNs: number;
  /** The window before trimming. */
  readonly fromNs: bigint;
  readonly toNs: bigint;
  /** The plan's; more is cut where `updatePeriodNs` and `latencyNs` need it. */
  readonly trimNs: number;
  /** Frames of the window with a wrong checksum, from `frames.csv`: dropped ones, and those that a tolerant profile made flagged samples of. */
  readonly checksumErrors: number;
}

/** A window of a run. */
export interface WindowSpec extends PowerSpec {
  /** Completion of every token of the run, ascending, those outside of the window too. */
  readonly tokenNs: readonly bigint[];
  /** Idle power before and after, where measured. */
  readonly idle: IdlePower | null;
}

/** What is computed from. */
export interface RunInput extends WindowSpec {
  /** Ascending; every sample from at least two update periods before `from` to two after `to`, unusable ones too; more does no harm. */
  readonly samples: Iterable<Sample>;
}

/** Power of the idle machine around a run, from the idle windows before and after it (`idlePower`). */
export interface IdlePower {
  readonly watts: number;
  /** Standard uncertainty, W: root sum of squares of the next two (accuracy is common to run and idle). */
  readonly uWatts: number;
  /** q / sqrt(12), a bias. */
  readonly uResolutionWatts: number;
  /** Repeatability of the two windows, and how far they lie apart. */
  readonly uRepeatabilityWatts: number;
  /** The idles before and after differ by more than twice their uncertainty. */
  readonly drifted: boolean;
}

/** Standard uncertainties of one value, in its unit; `total` is their root sum of squares. */
export interface Uncertainty {
  /** a P / sqrt(3): common to all runs on one meter and range. */
  readonly accuracy: number | null;
  /** q / sqrt(12): a bias, does not average out. */
  readonly resolution: number;
  /** s / sqrt(n_eff). */
  readonly repeatability: number;
  /** +-1 token at each edge, as a rectangle; 0 for values without tokens. */
  readonly tokenEdges: number;
  readonly total: number;
}

export interface Value {
  readonly value: number;
  readonly u: Uncertainty;
}

/** Of one window, tokens or not (an idle window has none). Everything that was not measured is null; `reasons` says why. */
export interface PowerFigures {
  readonly valid: boolean;
  readonly reasons: readonly Reason[];
  readonly warnings: readonly string[];
  readonly rule: Rule;
  readonly window_s: number;
  /** Cut off each end. */
  readonly trim_s: number;
  readonly trimmed_s: number | null;
  /** Usable ones in the trimmed window; polls that are faster than the meter's updates count each. */
  readonly samples: number;
  readonly unusable_samples: number;
  /** Update periods with a usable sample: the n of the statistics. */
  readonly update_periods: number;
  /** Share of the trimmed window that usable sample intervals cover. */
  readonly coverage: number | null;
  readonly largest_gap_s: number | null;
  readonly joules: Value | null;
  readonly mean_watts: Value | null;
  /** Joules of the meter's own counter over the window, a cross-check; null without one or when it was reset. */
  readonly meter_joules: number | null;
  /** Deviation of usable watts as shown, one value an update period; and the same in steps of the meter. */
  readonly sd_watts: number | null;
  readonly sd_over_step: number | null;
  /** What lies under the readings varies by less than half a step, so that the step does not average out: sd_over_step < 0.577. */
  readonly resolution_limited: boolean;
}

/** Of one window (`decode` or `full`) of one run. */
export interface WindowFigures extends PowerFigures {
  readonly net_joules: Value | null;
  readonly tokens: number;
  readonly tokens_in_window: number;
  readonly tokens_per_second: number | null;
  /** Energy of the trimmed window over ALL tokens: the paper's denominator. */
  readonly paper_trimmed_j_per_token: Value | null;
  /** Energy over the tokens that completed inside the same trimmed window. */
  readonly j_per_token: Value | null;
  readonly net_j_per_token: Value | null;
}
