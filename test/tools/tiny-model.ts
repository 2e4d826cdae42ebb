import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './paths.js';
import { run } from './process.js';

export const tinyWeights = ['f32', 'int8'] as const;
export type TinyWeights = (typeof tinyWeights)[number];

/** Writes the tiny synthetic model, whose sizes fit no tile, with the product's own command; returns its path. */
export async function tinyModel(weights: TinyWeights): Promise<string> {
  const folder = join(root, 'build-native');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `tiny-${weights}.gguf`);
  const args = ['synth', '--config', 'tiny', '--weights', weights, '--seed', '1', '-o', path];
  const result = await run(process.execPath, [join(root, 'dist/client/ctl/main.js'), ...args], {
    timeoutMs: 120_000,
  });
  if (result.code !== 0)
    throw new Error(`spikectl ${args.join(' ')}: exit ${String(result.code)}\n${result.stderr}`);
  return path;
}
