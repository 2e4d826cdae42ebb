import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encode } from '../tensor/gguf-draft.js';
import { tinyModel } from '../tensor/tiny-model.js';
import { root } from './paths.js';

export const tinyWeights = ['f32', 'int8', 'int4mix'] as const;
export type TinyWeights = (typeof tinyWeights)[number];

/** Writes a tiny model whose sizes fit no tile and whose window is shorter than the tests' sequences; returns its path. */
export function tinyModelFile(weights: TinyWeights): string {
  const folder = join(root, 'build-native');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `tiny-${weights}.gguf`);
  writeFileSync(
    path,
    encode(tinyModel({ weights, vocab: 101, dim: 36, heads: 3, ffn: 77, window: 7, anchors: 1 })),
  );
  return path;
}
