/** The contract of a paired comparison: blocks of runs go in, one verdict about one candidate comes out. energy-method.md, 2.5 and 5. */
import type { InvalidReason, Reason, WindowFigures } from '../window/figures.js';

/** What may be compared; the first is the one that the verdict is about unless the caller says otherwise. */
export const comparedFigures = ['j_per_token', 'paper_trimmed_j_per_token', 'net_j_per_token'] as const;
export type ComparedFigure = (typeof comparedFigures)[number];

/** One run as the comparison sees it. */
export interface ComparedRun {
  readonly arm: 'baseline' | 'candidate';
  /** Of the window that the comparison is about; null when the run left none. */
  readonly figures: WindowFigures | null;
  /** What excludes the run beside the figures' own reasons: throttled, generation-failed, ids-differ, … */
  readonly reasons: readonly Reason[];
}

/** A block: its runs in the order of time; pairs are the 1st and 2nd, the 3rd and 4th, … each one baseline and one candidate. */
export interface ComparedBlock {
  readonly block: number;
  readonly runs: readonly ComparedRun[];
  /** Why the block was not finished; it is then excluded whole. */
  readonly unfinished?: string;
}

/** Why a block is out, by rules that were fixed before any run. */
export type ExclusionReason =
  | InvalidReason
  /** It was broken off, or its runs do not make pairs. */
  | 'incomplete'
  /** A figure is not above zero, so that its logarithm is none: net of idle only. */
  | 'not-positive';

export interface ExcludedBlock {
  readonly block: number;
  /** At least one. */
  readonly reasons: readonly { readonly reason: ExclusionReason; readonly text: string }[];
}

/** One baseline and one candidate, neighbours in time. Pairs of one block are not independent of each other. */
export interface PairEffect {
  /** J/token. */
  readonly baseline: number;
  readonly candidate: number;
  /** candidate / baseline. */
  readonly ratio: number;
}

export interface BlockEffect {
  readonly block: number;
  readonly pairs: readonly PairEffect[];
  /** d: the mean over the pairs of ln(candidate / baseline). */
  readonly ln_ratio: number;
  /** exp(d). */
  readonly ratio: number;
}

export const verdicts = [
  'lower',
  'higher',
  'no difference shown',
  'below resolution',
  'not enough valid blocks',
] as const;
/** Of the candidate: it uses less energy per token, or more, or that cannot be said. */
export type Verdict = (typeof verdicts)[number];

/** The result for one candidate, one window and one figure. Keys go into result.json as they are. */
export interface Comparison {
  readonly figure: ComparedFigure;
  readonly verdict: Verdict;
  /** The verdict as one or two sentences with its figures. */
  readonly text: string;
  /** The blocks that count, in order. */
  readonly blocks: readonly BlockEffect[];
  readonly excluded: readonly ExcludedBlock[];
  /** exp(mean d); null without a valid block. 0.97 is 3 % less. */
  readonly ratio: number | null;
  /** 95 % interval of `ratio` over blocks, statistics and resolution together; null below two valid blocks. */
  readonly interval: { readonly low: number; readonly high: number; readonly confidence: number } | null;
  /** Standard deviation of d over blocks; null below two. */
  readonly sd_ln_ratio: number | null;
  /** Standard uncertainties of mean d, relative: sd / sqrt(n), and the meter's step, which no number of blocks makes smaller. */
  readonly u_statistics: number | null;
  readonly u_resolution: number | null;
  readonly u_combined: number | null;
  /** Exact sign-flip permutation over blocks, two-sided; `smallest` is what so many blocks can reach at all: 2 / 2^n. */
  readonly sign_flip: { readonly p: number; readonly smallest: number } | null;
  /** Smallest relative difference that had 80 % power at alpha 0.05, from the blocks' own spread and the step: 0.03 is 3 %. */
  readonly minimum_detectable: number | null;
}
