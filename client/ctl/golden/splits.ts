import type { ModelInfo, NativeModel, NativeSession } from '../../../native/host/index.js';
import { useSession } from '../engine.js';
import { sameBits } from './compare.js';

/** How a prompt is cut: single ids, an odd size that fits no tile, two unequal halves. */
export function splitsOf(n: number): number[][] {
  const chunks = (size: number) =>
    Array.from({ length: Math.ceil(n / size) }, (_, i) => Math.min(size, n - i * size));
  const half = Math.ceil(n / 2) + (n > 4 ? 1 : 0);
  const splits = [chunks(1), chunks(7), [half, n - half].filter((size) => size > 0)];
  const seen = new Set<string>();
  return splits.filter((split) => split.length > 1 && !seen.has(split.join()) && seen.add(split.join()));
}

/** What is left of a prompt where the engine does not show it: the logits of one more id. */
const probe = (prompt: Int32Array): Int32Array => prompt.slice(0, 1);

/** The splits whose logits or state are not the same bits as those of the prompt fed at once, as text such as `7+7+1`. */
export async function splitsThatDiffer(
  model: NativeModel,
  prompt: Int32Array,
  whole: Float32Array,
): Promise<string[]> {
  const expected = await useSession(model, async (session) => {
    await session.forward(prompt, { logits: 'none' });
    return stateOf(session, model.info, probe(prompt));
  });
  const different: string[] = [];
  for (const split of splitsOf(prompt.length)) {
    const same = await useSession(model, async (session) => {
      const logits = await feed(session, prompt, split, whole.length / prompt.length);
      const state = await stateOf(session, model.info, probe(prompt));
      return (
        sameBits(logits, whole) && state.every((part, i) => sameBits(part, expected[i] ?? new Float32Array()))
      );
    });
    if (!same) different.push(split.length > 8 ? `${split[0]}x${split.length}` : split.join('+'));
  }
  return different;
}

async function feed(
  session: NativeSession,
  prompt: Int32Array,
  split: number[],
  vocabSize: number,
): Promise<Float32Array> {
  const logits = new Float32Array(prompt.length * vocabSize);
  let at = 0;
  for (const size of split) {
    const part = await session.forward(prompt.slice(at, at + size), { logits: 'all' });
    if (part.logits) logits.set(part.logits, at * vocabSize);
    at += size;
  }
  return logits;
}

async function stateOf(session: NativeSession, info: ModelInfo, next: Int32Array): Promise<Float32Array[]> {
  if (info.weights !== 'i2_s') return [session.membrane(), session.decayState()];
  const { logits } = await session.forward(next, { logits: 'last' });
  return logits ? [logits] : [];
}
