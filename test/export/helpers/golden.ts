import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sharedDir } from '../../tools/suite.js';

export const goldenCases = [
  'a_base08b',
  'b_window16_anchor4',
  'c_no_sparse_attn',
  'd_no_dynamic_prior',
  'e_base194m',
  'f_silent_positions',
  'g_bf16_stored',
] as const;

const golden = join(sharedDir() ?? 'shared', 'golden');

/** What a test on reference data lacks; undefined when it is there. */
export const missingGolden = existsSync(golden) ? undefined : 'no shared/golden beside the checkout';

export function goldenFile(name: string, file: string): string {
  return join(golden, name, file);
}
