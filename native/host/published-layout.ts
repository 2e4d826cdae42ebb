import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { ModelInfo } from './addon-types.js';

/** I2_S files whose layout is known although nothing in them states it: SHA-256 of the file. */
export const publishedSha256: ReadonlySet<string> = new Set([
  // BitNet b1.58 2B4T as published, and with general.file_type 41 in place of 40.
  '4221b252fdd5fd25e15847adfeb5ee88886506ba50b8a34548374492884c2162',
  'e23b16fa81b890e8b65e676262b645e8ffa5ae1f6df89dadaf793246826bbd90',
]);
/** Of those files; what has another number is none of them, and need not be read. */
const publishedParameters = 2_412_820_480;
/** Hashing one takes a fraction of a millisecond, for which the event loop waits. */
const chunkBytes = 1 << 17;

/**
 * How far a model file's weights are known to be laid out as the engine reads them (docs/model-file.md, "BitNet"): `stated` by the file itself;
 * `known`, a published file; `unverified`; `unread`, a published one perhaps.
 */
export type Layout = 'stated' | 'known' | 'unverified' | 'unread';

/** As far as the model's numbers tell. */
export function layoutOf(info: ModelInfo): Layout {
  if (info.weights !== 'i2_s') return 'stated';
  return info.nParameters === publishedParameters ? 'unread' : 'unverified';
}

/**
 * Reads a file that is `unread`, piece by piece: the event loop goes on meanwhile.
 *
 * @returns `known` or `unverified`; `unread` when the signal ended it
 * @throws what reading the file throws
 */
export async function digestedLayout(path: string, signal: AbortSignal): Promise<Layout> {
  const hash = createHash('sha256');
  const file = await open(path);
  try {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    for (;;) {
      if (signal.aborted) return 'unread';
      const { bytesRead } = await file.read(chunk);
      if (bytesRead === 0) return publishedSha256.has(hash.digest('hex')) ? 'known' : 'unverified';
      hash.update(chunk.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}
