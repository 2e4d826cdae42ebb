import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The golden data lies in a `shared/` folder beside the checkout; SPIKED_SHARED names another place. */
const golden = join(
  process.env.SPIKED_SHARED ?? resolve(import.meta.dirname, '../../../../../shared'),
  'golden',
);

export const goldenCases = [
  'a_base08b',
  'b_window16_anchor4',
  'c_no_sparse_attn',
  'd_no_dynamic_prior',
  'e_base194m',
  'f_silent_positions',
  'g_bf16_stored',
] as const;

export const hasGolden = existsSync(golden);

export function goldenFile(name: string, file: string): string {
  return join(golden, name, file);
}

/** Says once why a file's golden tests are not run. */
export function reportMissingGolden(): void {
  if (!hasGolden) console.log(`skipped: golden data expected in ${golden}`);
}
