import { incompleteBeta, logGamma } from './beta.js';
import { normalCdf } from './normal.js';

/**
 * P(T <= t) of the noncentral t distribution: T = (Z + delta) / sqrt(chi^2 / df).
 *
 * A Poisson-weighted sum of incomplete beta functions; every weight from logarithms, so that no delta underflows.
 *
 * @source R. V. Lenth, Algorithm AS 243, Applied Statistics 38 (1989), equation (1)
 */
export function noncentralTCdf(t: number, df: number, delta: number): number {
  if (t < 0) return 1 - noncentralTCdf(-t, df, -delta);
  const start = normalCdf(-delta);
  if (t === 0) return start;
  if (delta === 0) return start + half(t, df, 0, 0);
  const lambda = (delta * delta) / 2;
  // Beyond eight standard deviations of the Poisson weight nothing is left.
  const spread = 8 * Math.sqrt(lambda) + 30;
  let sum = 0;
  for (let j = Math.max(0, Math.floor(lambda - spread)); j <= lambda + spread; j += 1)
    sum += half(t, df, delta, j);
  return Math.min(1, Math.max(0, start + sum));
}

/** Half of the j-th pair of terms. */
function half(t: number, df: number, delta: number, j: number): number {
  const square = t * t;
  const [x, complement] = [square / (df + square), df / (df + square)];
  const lambda = (delta * delta) / 2;
  const logPower = j === 0 ? 0 : j * Math.log(lambda);
  const p = Math.exp(logPower - lambda - logGamma(j + 1));
  const q = (delta / Math.SQRT2) * Math.exp(logPower - lambda - logGamma(j + 1.5));
  return (
    (p * incompleteBeta(x, j + 0.5, df / 2, complement) + q * incompleteBeta(x, j + 1, df / 2, complement)) /
    2
  );
}

/** Power of the two-sided one-sample t test on n values, for a mean of `effect` standard deviations; `critical` is its t. */
export function tTestPower(n: number, effect: number, critical: number): number {
  const delta = effect * Math.sqrt(n);
  return 1 - noncentralTCdf(critical, n - 1, delta) + noncentralTCdf(-critical, n - 1, delta);
}
