/** Runs of a tiny model on a given instruction set, thread count and batch split, for tests that compare their bits. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addon } from '../../native/host/addon.js';
import type { EngineOptions, NativeModel, NativeSession, Sampling } from '../../native/host/addon-types.js';
import { tempDir } from '../tools/suite.js';
import { encode, type Draft } from '../tensor/gguf-draft.js';
import { tinyModel, type TinyOptions } from '../tensor/tiny-model.js';

const folder = tempDir();
let files = 0;

/** Writes a tiny model, bent where a test wants that, and returns its path. */
export function modelFile(options: TinyOptions, bend?: (draft: Draft) => void): string {
  const path = join(folder, `tiny-${files++}.gguf`);
  const draft = tinyModel(options);
  bend?.(draft);
  writeFileSync(path, encode(draft));
  return path;
}

export async function withModel<T>(
  path: string,
  setup: EngineOptions,
  body: (model: NativeModel) => Promise<T>,
): Promise<T> {
  const engine = addon().openEngine({ threads: 1, ...setup });
  const model = await engine.openModel(path);
  try {
    return await body(model);
  } finally {
    model.close();
    engine.close();
  }
}

export async function withSession<T>(path: string, body: (s: NativeSession) => Promise<T>): Promise<T> {
  return withModel(path, {}, async (model) => {
    const session = model.openSession();
    try {
      return await body(session);
    } finally {
      session.close();
    }
  });
}

/** `n` ids that visit the whole vocabulary. */
export function ids(n: number, vocab = 96): Int32Array {
  return Int32Array.from({ length: n }, (_, i) => (i * 37 + 11) % vocab);
}

/** Logits of every position, fed in batches of `batch`. */
export async function logits(
  session: NativeSession,
  all: Int32Array,
  batch: number,
): Promise<Float32Array[]> {
  const parts: Float32Array[] = [];
  for (let at = 0; at < all.length; at += batch) {
    const result = await session.forward(all.subarray(at, at + batch), { logits: 'all' });
    if (result.logits === null) throw new Error('forward returned no logits');
    parts.push(result.logits);
  }
  return parts;
}

/** SHA-256 of logits and of the state they leave behind. */
export async function digest(session: NativeSession, all: Int32Array, batch: number): Promise<string> {
  const hash = createHash('sha256');
  for (const part of await logits(session, all, batch)) hash.update(part);
  return hash.update(session.membrane()).update(session.decayState()).digest('hex');
}

export const greedy: Sampling = {
  temperature: 0,
  topK: 0,
  topP: 1,
  repetitionPenalty: 1,
  adaptiveTemperature: false,
  bannedIds: new Int32Array(),
};
