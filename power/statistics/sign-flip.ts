/** Up to so many values all 2^n sign patterns are counted. */
const exactValues = 20;

/**
 * Exact two-sided p of the sign-flip permutation test that the values lie around zero: the share of all 2^n patterns of signs whose
 * |sum| is at least that of the values. Needs no distribution, only that each value might as well have had the other sign.
 *
 * @returns p and the smallest p that n values can give, 2 / 2^n; null for no value and above 20 values, where the t interval says enough
 */
export function signFlip(
  values: readonly number[],
): { readonly p: number; readonly smallest: number } | null {
  const n = values.length;
  if (n === 0 || n > exactValues) return null;
  const observed = Math.abs(values.reduce((sum, x) => sum + x, 0));
  // Sums of the same numbers in another order differ in their last bits; they are ties.
  const tie = 1e-12 * values.reduce((sum, x) => sum + Math.abs(x), 0);
  let extreme = 0;
  // By symmetry the last sign is fixed. Gray code: each pattern differs from the one before it in one sign.
  const signs = values.map(() => 1);
  let sum = values.reduce((total, x) => total + x, 0);
  const patterns = 2 ** (n - 1);
  for (let pattern = 1; ; pattern += 1) {
    if (Math.abs(sum) >= observed - tie) extreme += 1;
    if (pattern === patterns) break;
    const flip = Math.log2(pattern & -pattern);
    const sign = signs[flip] ?? 1;
    sum -= 2 * sign * (values[flip] ?? 0);
    signs[flip] = -sign;
  }
  return { p: extreme / patterns, smallest: Math.min(1, 2 / 2 ** n) };
}
