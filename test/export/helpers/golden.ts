import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root, sharedDir } from '../../tools/suite.js';

export const goldenCases = [
  'a_base08b',
  'b_window16_anchor4',
  'c_no_sparse_attn',
  'd_no_dynamic_prior',
  'e_base194m',
  'f_silent_positions',
  'g_bf16_stored',
] as const;

/** A reference file: the checkout has the most needed ones, a `shared/` folder beside it has all. */
export function goldenFile(name: string, file: string): string {
  const own = join(root, 'test/golden', name, file);
  return existsSync(own) ? own : join(sharedDir() ?? 'shared', 'golden', name, file);
}

/** What a test on a whole case lacks; undefined when it is there. */
export const missingCase = (name: string): string | undefined => missingGolden(name, 'model.pt');

/** What a test on these files of a case lacks; undefined when they are there. */
export function missingGolden(name: string, ...files: string[]): string | undefined {
  const missing = files.find((file) => !existsSync(goldenFile(name, file)));
  return missing === undefined
    ? undefined
    : `no golden/${name}/${missing} in the checkout or in shared/ beside it`;
}
