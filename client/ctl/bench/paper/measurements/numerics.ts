import type { NativeModel } from '../../../../../native/host/index.js';
import { useModel, useSession } from '../../../engine.js';
import { difference, topIndices, type Difference } from '../../../golden/compare.js';
import { readCase } from '../../../golden/case.js';
import type { Job } from '../settings.js';
import type { GoldenResult, NumericsResult } from '../results.js';
import { decode } from './decode.js';

/** Logits and greedy ids at the job's precision beside those with f32 activations, over the same weights. */
export async function numerics(
  model: NativeModel,
  job: Job,
  { ids, prompt, tokens }: { ids: number[]; prompt: number[]; tokens: number },
): Promise<NumericsResult> {
  const observe = async (from: NativeModel) =>
    useSession(from, async (session) => {
      const { logits } = await session.forward(Int32Array.from(ids), { logits: 'all' });
      return { logits: logits ?? new Float32Array(), greedy: (await decode(session, prompt, tokens)).ids };
    });
  const found = await observe(model);
  const expected = await useModel(job.model, { threads: job.threads, activations: 'f32' }, observe);
  const different = expected.greedy.findIndex((id, i) => id !== found.greedy[i]);
  const { maxAbs, meanAbs } = difference(found.logits, expected.logits);
  return {
    kind: 'numerics',
    positions: ids.length,
    mean_abs: meanAbs,
    max_abs: maxAbs,
    top1: sameTop(found.logits, expected.logits, model.info.vocabSize),
    greedy_tokens: tokens,
    greedy_equal: different < 0 ? tokens : different,
  };
}

/** Logits beside those that the reference recorded in f32, over every sequence of the case. */
export async function golden(model: NativeModel, folder: string): Promise<GoldenResult> {
  // The reference of every format is the f32 model, as the paper's is.
  const found = await readCase(folder, { ...model.info, weights: 'f32' });
  const parts: (Difference & { positions: number; top1: number })[] = [];
  for (const sequence of found.sequences) {
    const ids = sequence.get('input_ids')?.values;
    const expected = sequence.get('full_logits')?.values;
    if (ids === undefined || !(expected instanceof Float32Array)) continue;
    const { logits } = await useSession(model, (session) =>
      session.forward(Int32Array.from(ids), { logits: 'all' }),
    );
    const ours = logits ?? new Float32Array();
    const top1 = sameTop(ours, expected, model.info.vocabSize);
    parts.push({ ...difference(ours, expected), positions: ids.length, top1 });
  }
  const positions = parts.reduce((sum, part) => sum + part.positions, 0);
  const mean = (pick: (part: (typeof parts)[number]) => number) =>
    parts.reduce((sum, part) => sum + pick(part) * part.positions, 0) / positions;
  return {
    kind: 'golden',
    case: found.name,
    positions,
    mean_abs: mean((part) => part.meanAbs),
    max_abs: Math.max(...parts.map((part) => part.maxAbs)),
    top1: mean((part) => part.top1),
  };
}

function sameTop(found: Float32Array, expected: Float32Array, width: number): number {
  const rows = expected.length / width;
  let same = 0;
  for (let row = 0; row < rows; row++) {
    const top = (of: Float32Array) => topIndices(of.subarray(row * width, (row + 1) * width), 1)[0];
    if (top(found) === top(expected)) same++;
  }
  return same / rows;
}
