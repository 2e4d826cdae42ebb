import { normalCdf } from './normal.js';
import { tTestPower } from './noncentral-t.js';
import { solveRising } from './solve.js';
import { tQuantile } from './student-t.js';

/** What the tool promises: a difference so large is shown in `power` of all experiments, at `alpha` two-sided. */
export const alpha = 0.05;
export const power = 0.8;

const normalQuantile = (p: number): number => solveRising(normalCdf, p, 0);

/**
 * Smallest mean, in standard deviations of one value, that a two-sided t test on n values shows with 80 % power at alpha 0.05.
 *
 * @returns null below two values: one has no spread
 * @source energy-method.md, 2.5 and 5 (noncentral t; (t + z) / sqrt(n) is far too small for few values)
 */
export function detectableEffect(n: number): number | null {
  if (n < 2) return null;
  const critical = tQuantile(1 - alpha / 2, n - 1);
  return solveRising((effect) => tTestPower(n, effect, critical), power, 0);
}

/** The same for a bias of standard uncertainty 1 that no number of blocks makes smaller: 1.96 + 0.84. */
export const detectableBias = normalQuantile(1 - alpha / 2) + normalQuantile(power);

/** What is known of an experiment, before it from a pilot, after it from its blocks. */
export interface Precision {
  readonly blocks: number;
  /** Standard deviation of d = mean over a block's pairs of ln(candidate / baseline); with two pairs of independent runs that of ln(J/token) of one run. */
  readonly sd: number;
  /** Standard uncertainty of d from the meter's step, relative: sqrt(2) q / sqrt(12) over the mean watts. */
  readonly resolution: number;
}

/**
 * Smallest relative difference that has 80 % power at alpha 0.05: 0.03 is 3 %. Statistics and resolution in quadrature.
 *
 * @returns null below two blocks, or when it is beyond all numbers
 */
export function minimumDetectable({ blocks, sd, resolution }: Precision): number | null {
  const effect = detectableEffect(blocks);
  if (effect === null) return null;
  const relative = Math.expm1(Math.hypot(effect * sd, detectableBias * resolution));
  return Number.isFinite(relative) ? relative : null;
}
