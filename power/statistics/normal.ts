/**
 * P(Z <= x) of the standard normal distribution; absolute error below 1e-15.
 *
 * @source G. Marsaglia, "Evaluating the normal distribution", J. Stat. Software 11(4), 2004: Phi = 1/2 + phi(x) (x + x^3/3 + x^5/15 + …)
 */
export function normalCdf(x: number): number {
  if (x > 8.5) return 1;
  if (x < -8.5) return 0;
  const square = x * x;
  let sum = x;
  let term = x;
  for (let odd = 3; sum + term !== sum; odd += 2) {
    term *= square / odd;
    sum += term;
  }
  return 0.5 + (sum * Math.exp(-square / 2)) / Math.sqrt(2 * Math.PI);
}
