import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { z } from 'zod';
import type { ModelInfo, NativeModel, Probability, Sampling } from '../../../native/host/index.js';
import { SpikedError } from '../../protocol/errors.js';
import { useSession } from '../engine.js';

/** Largest absolute error of a probability. */
export const tolerance = 1e-5;

/** The reference ends at this id and never bans it. */
const eosId = 2;

const step = z.object({
  support: z.number().int(),
  ids: z.array(z.number().int()),
  probs: z.array(z.number()),
});

// The reference's own argument names and defaults.
const generateArgs = z.strictObject({
  temperature: z.number().default(0.8),
  top_k: z.number().int().default(50),
  top_p: z.number().default(1),
  repetition_penalty: z.number().default(1),
  adaptive_temperature: z.boolean().default(true),
  valid_vocab_size: z.number().int().nullish(),
  banned_token_ids: z.array(z.number().int()).nullish(),
  max_new_tokens: z.number().int().optional(),
});

const samplingCase = z.object({
  case: z.string(),
  prompt: z.array(z.number().int()).min(1),
  generate_args: generateArgs,
  output_ids: z.array(z.number().int()).optional(),
  steps: z.array(step).min(1),
});

export type SamplingCase = z.infer<typeof samplingCase> & { index: number; settings: string };

export interface SamplingReport {
  index: number;
  settings: string;
  steps: number;
  max_abs: number;
  passed: boolean;
  reason: string;
}

export async function readSamplingCases(path: string): Promise<SamplingCase[]> {
  const invalid = (found: string) => new SpikedError('ERR_INVALID_ARGUMENT', `${path}: ${found}`);
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) throw invalid(`expected JSON, found ${error.message}`);
    throw error;
  }
  const parsed = z.object({ cases: z.array(samplingCase) }).safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw invalid(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'unexpected form'}`);
  }
  const raw = (value as { cases: { generate_args: Record<string, unknown> }[] }).cases;
  return parsed.data.cases.map((entry, index) => ({
    ...entry,
    index,
    settings: showArgs(raw[index]?.generate_args ?? {}),
  }));
}

/** The cases of one model, by the last part of their name. A file with cases of one model only needs no name. */
export function casesFor(path: string, cases: SamplingCase[], name: string, asked: boolean): SamplingCase[] {
  const own = cases.filter((entry) => basename(entry.case) === name);
  if (own.length > 0) return own;
  const names = [...new Set(cases.map((entry) => basename(entry.case)))];
  if (names.length === 1 && !asked) return cases;
  throw new SpikedError(
    'ERR_INVALID_ARGUMENT',
    `${path}: expected --case to be one of ${names.join(', ')}, found "${name}"`,
  );
}

/** Compares the distribution before every draw; fed is what the reference chose, its most probable id. */
export async function checkSampling(model: NativeModel, entry: SamplingCase): Promise<SamplingReport> {
  const sampling = toSampling(entry.generate_args, model.info);
  return useSession(model, async (session) => {
    const report: SamplingReport = {
      index: entry.index, settings: entry.settings, steps: entry.steps.length, max_abs: 0, passed: true, reason: '',
    }; // prettier-ignore
    let ids = Int32Array.from(entry.prompt);
    for (const [at, expected] of entry.steps.entries()) {
      await session.forward(ids, { logits: 'last' });
      const found = session.probabilities(sampling);
      const error = largestError(found, expected);
      report.max_abs = Math.max(report.max_abs, error);
      const problem =
        found.length !== expected.support
          ? `expected ${expected.support} candidates, found ${found.length}`
          : error <= tolerance ? '' : `a probability is off by ${error.toExponential(2)}`; // prettier-ignore
      if (problem !== '' && report.passed)
        Object.assign(report, { passed: false, reason: `step ${at}: ${problem}` });
      ids = Int32Array.of(entry.output_ids?.[entry.prompt.length + at] ?? expected.ids[0] ?? 0);
    }
    return report;
  });
}

function largestError(found: Probability[], expected: z.infer<typeof step>): number {
  const ours = new Map(found.map(({ id, probability }) => [id, probability]));
  const errors = expected.ids.map((id, i) => Math.abs((ours.get(id) ?? 0) - (expected.probs[i] ?? NaN)));
  return Math.max(...errors.map((error) => (Number.isNaN(error) ? Infinity : error)));
}

function toSampling(args: z.infer<typeof generateArgs>, info: ModelInfo): Sampling {
  return {
    temperature: args.temperature,
    topK: args.top_k,
    topP: args.top_p,
    repetitionPenalty: args.repetition_penalty,
    adaptiveTemperature: args.adaptive_temperature,
    validVocabSize: args.valid_vocab_size ?? info.validVocabSize,
    bannedIds: Int32Array.from(args.banned_token_ids ?? []).filter((id) => id !== eosId),
  };
}

function showArgs(args: Record<string, unknown>): string {
  const shown = Object.entries(args).map(
    ([key, value]) => `${key}=${Array.isArray(value) ? `[${value.length}]` : String(value)}`,
  );
  return shown.join(' ') || 'defaults';
}
