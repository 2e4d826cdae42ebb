import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encode } from '../tensor/gguf-draft.js';
import { tinyBitnet } from '../tensor/tiny-bitnet.js';
import { tinyModel } from '../tensor/tiny-model.js';
import { root } from './paths.js';

export const tinyWeights = ['f32', 'int8', 'int4mix', 'i2_s'] as const;
export type TinyWeights = (typeof tinyWeights)[number];

/** Writes a tiny model whose sizes fit no tile (where its weights allow that) and whose window is shorter than the tests' sequences; returns its path. */
export function tinyModelFile(weights: TinyWeights): string {
  const folder = join(root, 'build-native');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `tiny-${weights}.gguf`);
  const draft =
    weights === 'i2_s'
      ? tinyBitnet({ vocab: 101, dim: 256, heads: 4, kvHeads: 2, ffn: 384 })
      : tinyModel({ weights, vocab: 101, dim: 36, heads: 3, ffn: 77, window: 7, anchors: 1 });
  // Another process may have it mapped.
  const written = `${path}.${String(process.pid)}`;
  writeFileSync(written, encode(draft));
  renameSync(written, path);
  return path;
}
