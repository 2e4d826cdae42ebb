import type { Prompts } from './prompt.js';
import { formats, precisionsOf } from './settings.js';
import type { Format, Gate, LayoutPlan, Precision, Setting, TableName, Variant, Work } from './settings.js';

export interface Scale {
  /** Processes a timed setting. */
  repetitions: number;
  tokens: number;
  prefillLengths: readonly number[];
  /** Positions whose logits are compared. */
  numericsTokens: number;
  /** Most ids of the text that are scored. */
  textTokens: number;
  bandwidthBytes: number;
}

export const fullScale: Scale = {
  repetitions: 3,
  tokens: 100,
  prefillLengths: [16, 64, 128, 256, 512],
  numericsTokens: 60,
  textTokens: Infinity,
  bandwidthBytes: 2 ** 30,
};
export const quickScale: Scale = {
  repetitions: 1,
  tokens: 24,
  prefillLengths: [16, 64, 128],
  numericsTokens: 60,
  textTokens: 300,
  bandwidthBytes: 2 ** 27,
};

export interface PlanInput {
  tables: readonly TableName[];
  scale: Scale;
  maxThreads: number;
  /** Of the model: a window to score is no longer. */
  maxContext: number;
  prompts: Prompts;
  golden: string | undefined;
}

export interface Plan {
  settings: Setting[];
  /** The ids of a table's settings, in the order of its rows; a setting may serve several tables. */
  tables: Partial<Record<TableName, string[]>>;
}

export const headCandidates: readonly Gate[] = [
  ...[16, 32, 64].map((k) => ({ mode: 'gate', scope: 'projection', threshold: 0.5, k }) as const),
  ...[32, 64].map((k) => ({ mode: 'gate', scope: 'head', threshold: 4, k }) as const),
];

export function planOf(input: PlanInput): Plan {
  const settings = new Map<string, Setting>();
  const tables: Plan['tables'] = {};
  for (const table of input.tables) {
    const rows = tableSettings[table](input);
    for (const row of rows) settings.set(row.id, row);
    tables[table] = rows.map(({ id }) => id);
  }
  return { settings: [...settings.values()], tables };
}

const tableSettings: Record<TableName, (input: PlanInput) => Setting[]> = {
  precision: (input) => formats.map((format) => decode(input, variant(format))),
  threads: (input) => threadCounts(input.maxThreads).map((n) => decode(input, variant('int8'), n)),
  prefill: (input) =>
    threadCounts(input.maxThreads).flatMap((n) =>
      input.scale.prefillLengths.map((length) => prefill(input, length, n)),
    ),
  layout: (input) =>
    (['column', 'row', 'mixed'] as const).map((layoutPlan) => decode(input, variant('f32', layoutPlan))),
  numerics: (input) =>
    pairs().flatMap(([format, precision]) => [
      once(input, 'numerics', variant(format), precision),
      decode(input, variant(format), 1, precision),
      once(input, 'perplexity', variant(format), precision),
      ...(input.golden === undefined
        ? []
        : [
            once(
              input,
              'golden',
              { ...variant(format), id: `golden-${format}`, golden: input.golden },
              precision,
            ),
          ]),
    ]),
  perplexity: (input) => formats.map((format) => once(input, 'perplexity', variant(format), 'f32')),
  head: (input) => headCandidates.map((head) => headSetting(input, head)),
};

export function pairs(): [Format, Precision][] {
  return formats.flatMap((format) => precisionsOf(format).map((p): [Format, Precision] => [format, p]));
}

export function variant(weights: Format, layoutPlan: LayoutPlan = 'mixed'): Variant {
  return { id: layoutPlan === 'mixed' ? weights : `${weights}-${layoutPlan}`, weights, layoutPlan };
}

/** 1, 2, 4, 8 … and the most. */
export function threadCounts(most: number): number[] {
  const counts: number[] = [];
  for (let n = 1; n < most; n *= 2) counts.push(n);
  return [...counts, most];
}

function decode(input: PlanInput, of: Variant, threads = 1, activations: Precision = 'f32'): Setting {
  const { prompts, scale } = input;
  const work: Work = { kind: 'decode', ids: prompts.prompt, tokens: scale.tokens };
  return {
    id: `decode ${of.id} ${activations} ${threads}`,
    variant: of,
    threads,
    activations,
    work,
    timed: true,
  };
}

function prefill({ prompts }: PlanInput, length: number, threads: number): Setting {
  const ids = Array.from({ length }, (_, i) => prompts.prompt[i % prompts.prompt.length] ?? 0);
  return {
    id: `prefill int8 ${length} ${threads}`,
    variant: variant('int8'),
    threads,
    activations: 'f32',
    work: { kind: 'prefill', ids },
    timed: true,
  };
}

function headSetting({ prompts, scale }: PlanInput, head: Gate): Setting {
  return {
    id: `head ${head.scope} ${head.k}`,
    variant: variant('int8'),
    threads: 1,
    activations: 'f32',
    work: { kind: 'head', ids: prompts.prompt, tokens: scale.tokens, head },
    timed: true,
  };
}

function once(
  input: PlanInput,
  kind: 'numerics' | 'perplexity' | 'golden',
  of: Variant,
  activations: Precision,
): Setting {
  return {
    id: `${kind} ${of.id} ${activations}`,
    variant: of,
    threads: input.maxThreads,
    activations,
    work: workOf(input, kind),
    timed: false,
  };
}

function workOf(
  { scale, prompts, maxContext, golden }: PlanInput,
  kind: 'numerics' | 'perplexity' | 'golden',
): Work {
  if (kind === 'golden') return { kind, folder: golden ?? '' };
  if (kind === 'numerics') {
    const ids = prompts.text.slice(0, scale.numericsTokens);
    return { kind, ids, prompt: prompts.prompt, tokens: scale.tokens };
  }
  const seq = Math.min(512, maxContext);
  return { kind, ids: prompts.text.slice(0, scale.textTokens), seq, stride: seq };
}
