import { headCandidates, pairs, threadCounts, type Plan } from './plan.js';
import type {
  GoldenResult,
  HeadResult,
  NumericsResult,
  PerplexityResult,
  Repetition,
  WorkResult,
} from './results.js';
import {
  formats,
  type Format,
  type Gate,
  type LayoutPlan,
  type Precision,
  type TableName,
} from './settings.js';
import { spreadOf, type Spread } from '../stats.js';
import type { VariantFile } from './variants.js';

/** Everything measured: the repetitions of each setting, and the files. */
export interface Measured {
  plan: Plan;
  repetitions: ReadonlyMap<string, readonly Repetition[]>;
  files: readonly VariantFile[];
  maxThreads: number;
  prefillLengths: readonly number[];
}

export interface RateRow {
  tokens_per_s: Spread;
  read_bandwidth_gb_s: Spread;
  /** Of the read bandwidth; undefined for prefill, which reads a weight once for many tokens. */
  share?: number | undefined;
}

export interface Tables {
  precision?: (RateRow & {
    weights: Format;
    weights_mib: number;
    peak_rss_mib: number;
    sampled_rss_mib: number;
  })[];
  threads?: (RateRow & { threads: number; same_ids: boolean })[];
  prefill?: (RateRow & { threads: number; tokens: number })[];
  layout?: (RateRow & { layout: LayoutPlan })[];
  numerics?: NumericsRow[];
  perplexity?: (PerplexityResult & { weights: Format })[];
  head?: HeadRow[];
}

export interface NumericsRow extends RateRow {
  weights: Format;
  activations: Precision;
  logits: NumericsResult;
  perplexity: PerplexityResult;
  golden?: GoldenResult | undefined;
}

export interface HeadRow {
  scope: string;
  k: number;
  threshold: number;
  steps: number;
  triggered: number;
  rows: number;
  reduction_percent: number;
  /** Shares of the head's time, over all repetitions. */
  share: { projection: number; prior: number; selection: number; verification: number };
  tokens_per_s: Spread;
  baseline_tokens_per_s: Spread;
  ids_equal: boolean;
}

const mib = 2 ** 20;

export function tablesOf(measured: Measured): Tables {
  const has = (name: TableName) => measured.plan.tables[name] !== undefined;
  return {
    ...(has('precision') && { precision: formats.map((format) => precisionRow(measured, format)) }),
    ...(has('threads') && { threads: threadRows(measured) }),
    ...(has('prefill') && { prefill: prefillRows(measured) }),
    ...(has('layout') && {
      layout: (['column', 'row', 'mixed'] as const).map((layout) => ({
        layout,
        ...rate(measured, decodeId(layout === 'mixed' ? 'f32' : `f32-${layout}`)),
      })),
    }),
    ...(has('numerics') && { numerics: pairs().map((pair) => numericsRow(measured, pair)) }),
    ...(has('perplexity') && {
      perplexity: formats.map((weights) => ({
        weights,
        ...only(measured, `perplexity ${weights} f32`, 'perplexity'),
      })),
    }),
    ...(has('head') && { head: headCandidates.map((head) => headRow(measured, head)) }),
  };
}

function decodeId(variant: string, activations: Precision = 'f32', threads = 1): string {
  return `decode ${variant} ${activations} ${threads}`;
}

function repetitionsOf({ repetitions }: Measured, id: string): readonly Repetition[] {
  return repetitions.get(id) ?? [];
}

function results<K extends WorkResult['kind']>(measured: Measured, id: string, kind: K) {
  return repetitionsOf(measured, id)
    .map(({ result }) => result)
    .filter((result): result is Extract<WorkResult, { kind: K }> => result.kind === kind);
}

function only<K extends WorkResult['kind']>(measured: Measured, id: string, kind: K) {
  const [first] = results(measured, id, kind);
  if (first === undefined) throw new Error(`${id}: no result of kind ${kind}`);
  return first;
}

function rate(measured: Measured, id: string): RateRow {
  const all = repetitionsOf(measured, id);
  const rates = all.map(({ result }) => ('tokens_per_s' in result ? result.tokens_per_s : NaN));
  const shares = all.flatMap(({ result, read_bandwidth_gb_s: read }) =>
    result.kind === 'decode' && read !== undefined
      ? [(result.tokens_per_s * result.bytes_per_token) / (read * 1e9)]
      : [],
  );
  return {
    tokens_per_s: spreadOf(rates),
    read_bandwidth_gb_s: spreadOf(all.map(({ read_bandwidth_gb_s: read }) => read ?? NaN)),
    ...(shares.length > 0 && { share: spreadOf(shares).median }),
  };
}

function precisionRow(measured: Measured, weights: Format) {
  const id = decodeId(weights);
  const all = repetitionsOf(measured, id);
  const file = measured.files.find(({ variant }) => variant.id === weights);
  return {
    weights,
    weights_mib: (file?.weightBytes ?? NaN) / mib,
    peak_rss_mib: spreadOf(all.map((one) => one.peak_rss_bytes / mib)).median,
    sampled_rss_mib: spreadOf(all.map((one) => one.sampled_rss_bytes / mib)).median,
    ...rate(measured, id),
  };
}

function threadRows(measured: Measured) {
  const baseline = only(measured, decodeId('int8'), 'decode').ids;
  return threadCounts(measured.maxThreads).map((threads) => {
    const id = decodeId('int8', 'f32', threads);
    const same = results(measured, id, 'decode').every(({ ids }) => ids.every((x, i) => x === baseline[i]));
    return { threads, same_ids: same, ...rate(measured, id) };
  });
}

function prefillRows(measured: Measured) {
  return threadCounts(measured.maxThreads).flatMap((threads) =>
    measured.prefillLengths.map((tokens) => ({
      threads,
      tokens,
      ...rate(measured, `prefill int8 ${tokens} ${threads}`),
    })),
  );
}

function numericsRow(measured: Measured, [weights, activations]: [Format, Precision]): NumericsRow {
  return {
    weights,
    activations,
    ...rate(measured, decodeId(weights, activations)),
    logits: only(measured, `numerics ${weights} ${activations}`, 'numerics'),
    perplexity: only(measured, `perplexity ${weights} ${activations}`, 'perplexity'),
    golden: results(measured, `golden golden-${weights} ${activations}`, 'golden')[0],
  };
}

function headRow(measured: Measured, head: Gate): HeadRow {
  const all = results(measured, `head ${head.scope} ${head.k}`, 'head');
  const first = only(measured, `head ${head.scope} ${head.k}`, 'head');
  const sum = (pick: (ns: HeadResult['ns']) => number) => all.reduce((total, { ns }) => total + pick(ns), 0);
  const total = sum((ns) => ns.projection + ns.prior + ns.selection + ns.verification);
  return {
    scope: head.scope,
    k: head.k,
    threshold: head.threshold,
    steps: first.steps,
    triggered: first.triggered,
    rows: first.rows,
    reduction_percent: 100 * (1 - head.k / first.vocab),
    share: {
      projection: sum((ns) => ns.projection) / total,
      prior: sum((ns) => ns.prior) / total,
      selection: sum((ns) => ns.selection) / total,
      verification: sum((ns) => ns.verification) / total,
    },
    tokens_per_s: spreadOf(all.map((one) => one.tokens_per_s)),
    baseline_tokens_per_s: spreadOf(all.map((one) => one.baseline_tokens_per_s)),
    ids_equal: all.every((one) => one.ids_equal),
  };
}
