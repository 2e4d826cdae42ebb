/** What a measuring process answers, by kind of work. */
export interface DecodeResult {
  kind: 'decode';
  tokens_per_s: number;
  bytes_per_token: number;
  prefill_ns: number;
  ids: number[];
}

export interface PrefillResult {
  kind: 'prefill';
  tokens: number;
  tokens_per_s: number;
}

export interface NumericsResult {
  kind: 'numerics';
  positions: number;
  mean_abs: number;
  max_abs: number;
  /** Share of positions whose largest logit is the same id's. */
  top1: number;
  greedy_tokens: number;
  /** Ids that are equal before the first that differs. */
  greedy_equal: number;
}

export interface PerplexityResult {
  kind: 'perplexity';
  perplexity: number;
  nats: number;
  tokens: number;
  tokens_scored: number;
  masked_mass: number;
  seq: number;
  stride: number;
}

export interface GoldenResult {
  kind: 'golden';
  case: string;
  positions: number;
  mean_abs: number;
  max_abs: number;
  top1: number;
}

export interface HeadResult {
  kind: 'head';
  steps: number;
  triggered: number;
  /** Rows computed again, over all steps. */
  rows: number;
  vocab: number;
  /** Over all steps. */
  ns: { projection: number; prior: number; selection: number; verification: number };
  tokens_per_s: number;
  /** Of the full head in the same process. */
  baseline_tokens_per_s: number;
  ids: number[];
  ids_equal: boolean;
}

/** Of `bench harness`. */
export interface HarnessResult {
  kind: 'harness';
  /** One list a prompt. */
  ids: number[][];
  /** Of all prompts together, each from its first token to its last. */
  tokens_per_s: number;
  /** Computed exactly, a step. */
  head_rows_per_step: number;
  fell_back: number;
  /** Passes by how many guessed ids were right in them, from 0; null without drafts. */
  accepted_lengths: number[] | null;
  /** Resident when all prompts were done. */
  rss_bytes: number;
}

export type WorkResult =
  | DecodeResult
  | PrefillResult
  | NumericsResult
  | PerplexityResult
  | GoldenResult
  | HeadResult
  | HarnessResult;

/** One process. */
export interface Repetition {
  result: WorkResult;
  isa: string;
  load_ms: number;
  /** The kernel's own high-water mark, before the bandwidth was measured. */
  peak_rss_bytes: number;
  /** Largest of the samples taken every 50 ms, the process and its children together. */
  sampled_rss_bytes: number;
  /** Of the same threads, right after; absent for what is not timed. */
  read_bandwidth_gb_s?: number | undefined;
}
