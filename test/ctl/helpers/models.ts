import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { exportModel } from '../../../export/export.js';
import { addon } from '../../../native/host/index.js';
import { goldenFile } from '../../export/helpers/golden.js';
import { root, tempDir } from '../../tools/suite.js';
import { output } from './spikectl.js';
import { tinyTokenizer } from './tokenizer.js';

const folder = tempDir();

export function scratch(name: string): string {
  return join(folder, name);
}

export const goldenCase = (name: string): string => dirname(goldenFile(name, 'model.pt'));
export const samplingCases = join(root, 'test/golden/sampling_cases.json');

const exported = new Map<string, Promise<string>>();

/** Exports a reference case, once; returns the model's path. */
export function goldenModel(name: string, weights: 'f32' | 'int8'): Promise<string> {
  const out = scratch(`${name}-${weights}.gguf`);
  const checkpoint = join(goldenCase(name), 'model.pt');
  const found =
    exported.get(out) ?? exportModel({ checkpoint, out, weights, name, packer: addon() }).then(() => out);
  exported.set(out, found);
  return found;
}

/** A model of random weights, small, with a tokenizer inside where asked. */
export async function synthModel(name: string, options: { tokenizer?: boolean } = {}): Promise<string> {
  const path = scratch(`${name}.gguf`);
  const args = ['synth', '--config', 'tiny', '-o', path];
  if (options.tokenizer) {
    writeFileSync(scratch('tiny.model'), tinyTokenizer());
    args.push('--tokenizer', scratch('tiny.model'));
  }
  await output(args);
  return path;
}
