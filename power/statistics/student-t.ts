import { incompleteBeta } from './beta.js';
import { normalCdf } from './normal.js';
import { solveRising } from './solve.js';

/**
 * Degrees of freedom from which the distribution is the normal one: it differs by less than 1 / (4 df), and the beta function gives no
 * number for far more of them (blocks that agree to the last digit have 1e30).
 */
const asNormal = 1e8;

/**
 * P(T <= t) of Student's t with `df` degrees of freedom, df > 0, whole or not; the normal distribution from 1e8 on, Infinity included.
 *
 * @source DLMF 8.17; Abramowitz and Stegun 26.7.1
 */
export function tCdf(t: number, df: number): number {
  if (df >= asNormal) return normalCdf(t);
  // I_x(df/2, 1/2) with x = df / (df + t^2) is both tails together; 1 - x is known exactly.
  const square = t * t;
  const tail = incompleteBeta(df / (df + square), df / 2, 0.5, square / (df + square)) / 2;
  return t > 0 ? 1 - tail : tail;
}

/** The t below which a share `p` lies, 0 < p < 1. */
export function tQuantile(p: number, df: number): number {
  if (p < 0.5) return -tQuantile(1 - p, df);
  return solveRising((t) => tCdf(t, df), p, 0);
}
