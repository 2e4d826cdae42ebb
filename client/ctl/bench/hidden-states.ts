import type { NativeModel, NativeSession, Sampling } from '../../../native/host/index.js';
import { useSession } from '../engine.js';
import { greedy } from './greedy.js';

/** Hidden states [n * embedDim] of one kind, and how the next id is chosen from them. */
export interface StateClass {
  name: string;
  hidden: Float32Array;
  sampling: Sampling;
}

const drawn: Sampling = { ...greedy, temperature: 0.8, topK: 50, topP: 0.9 };
const chunk = 64;
/** Halvings of a segment between two states: past f32's 24 bits the two ends are neighbours. */
const halvings = 30;

/** A small generator, so that a seed gives the same states everywhere (Marsaglia 2003, xorshift32). */
function random(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

function normals(n: number, next: () => number): Float32Array {
  // Box and Muller 1958.
  return Float32Array.from(
    { length: n },
    () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
  );
}

/** The hidden states of a sequence: what the head reads at each position. */
async function statesOf(session: NativeSession, model: NativeModel, ids: Int32Array): Promise<Float32Array> {
  const { embedDim, nLayers } = model.info;
  const hidden = new Float32Array(ids.length * embedDim);
  for (let at = 0; at < ids.length; at += chunk) {
    const part = ids.subarray(at, at + chunk);
    // A ternary model's head reads what its last norm gives.
    const finalNorm = model.info.weights === 'i2_s';
    const { trace } = await session.forward(part, {
      logits: 'none',
      trace: { blockOut: !finalNorm, finalNorm },
    });
    const size = part.length * embedDim;
    const last = (nLayers - 1) * size;
    const found = finalNorm ? trace?.finalNorm : trace?.blockOut?.subarray(last, last + size);
    hidden.set(found ?? [], at * embedDim);
  }
  return hidden;
}

/** n states of texts: of `ids`, from the beginning again in windows of the model's context, or of what the model writes itself. */
export async function textStates(
  model: NativeModel,
  n: number,
  seed: number,
  ids: Int32Array | null,
): Promise<Float32Array> {
  const { embedDim, maxContext, validVocabSize } = model.info;
  const hidden = new Float32Array(n * embedDim);
  await useSession(model, async (session) => {
    for (let at = 0, text = 0; at < n; text++) {
      const length = Math.min(maxContext, n - at);
      session.reset();
      let part: Int32Array;
      if (ids === null) part = await written(session, length, BigInt(seed + text), validVocabSize);
      else {
        const begin = (text * maxContext) % ids.length;
        part = ids.subarray(begin, Math.min(ids.length, begin + length));
      }
      hidden.set(await statesOf(session, model, part), at * embedDim);
      at += part.length;
    }
  });
  return hidden;
}

async function written(
  session: NativeSession,
  length: number,
  seed: bigint,
  vocabSize: number,
): Promise<Int32Array> {
  const ids = new Int32Array(length);
  ids[0] = Math.min(1, vocabSize - 1);
  session.seed(seed);
  for (let i = 1; i < length; i++) ids[i] = (await session.step(ids.subarray(i - 1, i), drawn)).id;
  session.reset();
  return ids;
}

/**
 * Pairs of states as close as f32 allows on both sides of a change of the best id, found by halving the segment between two texts' states:
 * near ties of the full head.
 */
async function nearTies(session: NativeSession, from: Float32Array, dim: number): Promise<Float32Array> {
  const n = Math.floor(from.length / dim);
  const left = from.slice();
  const right = new Float32Array(from.length);
  for (let i = 0; i < n; i++)
    right.set(from.subarray(((i + 1) % n) * dim, (((i + 1) % n) + 1) * dim), i * dim);
  const { ids } = await session.choose(left, greedy);
  for (let round = 0; round < halvings; round++) {
    const middle = left.map((value, i) => (value + (right[i] ?? 0)) / 2);
    const chosen = (await session.choose(middle, greedy)).ids;
    for (let i = 0; i < n; i++)
      (chosen[i] === ids[i] ? left : right).set(middle.subarray(i * dim, (i + 1) * dim), i * dim);
  }
  return left;
}

/** Equal values, zeros, one huge component, scales far from 1, noise: states no text gives. */
function strange(text: Float32Array, dim: number, seed: number): Float32Array {
  const next = random(seed);
  const noise = normals(text.length, next);
  return text.map((value, i) => {
    const kind = Math.floor(i / dim) % 8;
    if (kind === 0) return 0;
    if (kind === 1) return 1;
    if (kind === 2) return i % dim === Math.floor(i / dim) % dim ? 1e4 : value;
    if (kind === 3) return value * 1e-12;
    if (kind === 4) return value * 1e6;
    if (kind === 5) return i % dim === Math.floor(i / dim) % dim ? 1e30 : value;
    return kind === 6 ? (noise[i] ?? 0) : value + 0.1 * (noise[i] ?? 0);
  });
}

/**
 * n states in classes: a half of texts (greedy, with masks and a penalty, and drawn from the top k), a half built to defeat a bound.
 *
 * @param ids of a text; null: texts that the model writes
 */
export async function makeStates(
  model: NativeModel,
  n: number,
  seed: number,
  ids: Int32Array | null,
): Promise<StateClass[]> {
  const { embedDim, validVocabSize } = model.info;
  const part = Math.max(1, Math.ceil(n / 8));
  const size = part * embedDim;
  const text = await textStates(model, 4 * part, seed, ids);
  const ties = await useSession(model, (session) => nearTies(session, text.subarray(0, 3 * size), embedDim));
  const first = await useSession(model, (session) => session.choose(text.subarray(0, size), greedy));
  const masked: Sampling = {
    ...greedy,
    repetitionPenalty: 1.3,
    bannedIds: Int32Array.from(new Set(first.ids)).slice(0, Math.floor(validVocabSize / 4)),
  };
  return [
    { name: 'text', hidden: text.subarray(0, 2 * size), sampling: greedy },
    { name: 'text, masked', hidden: text.subarray(2 * size, 3 * size), sampling: masked },
    { name: 'text, top-k', hidden: text.subarray(3 * size), sampling: { ...drawn, topK: 8 } },
    { name: 'near ties', hidden: ties.subarray(0, 2 * size), sampling: greedy },
    { name: 'near ties, masked', hidden: ties.subarray(2 * size), sampling: masked },
    { name: 'strange', hidden: strange(text.subarray(0, size), embedDim, seed), sampling: greedy },
  ];
}
