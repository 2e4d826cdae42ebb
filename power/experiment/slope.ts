import type { Reading } from './meter-feed.js';

export interface Slope {
  /** Least squares over the readings. */
  readonly wattsPerMinute: number;
  /** Its standard error. */
  readonly uWattsPerMinute: number;
  readonly meanWatts: number;
}

const fewest = 10;

/** How fast power rises or falls; null below ten readings, or when they have one time. */
export function slopeOf(readings: readonly Reading[]): Slope | null {
  const [first] = readings;
  const n = readings.length;
  if (first === undefined || n < fewest) return null;
  const minutes = readings.map(({ tNs }) => Number(tNs - first.tNs) / 60e9);
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / n;
  const [t, w] = [mean(minutes), mean(readings.map(({ watts }) => watts))];
  let [tt, tw, ww] = [0, 0, 0];
  readings.forEach(({ watts }, i) => {
    const dt = (minutes[i] ?? 0) - t;
    tt += dt * dt;
    tw += dt * (watts - w);
    ww += (watts - w) ** 2;
  });
  if (tt === 0) return null;
  const slope = tw / tt;
  const residual = Math.max(0, ww - slope * tw);
  return { wattsPerMinute: slope, uWattsPerMinute: Math.sqrt(residual / (n - 2) / tt), meanWatts: w };
}

/**
 * Whether power is steady: its slope, and the slope's standard error on top, lie below the limit. A short look at a noisy meter therefore
 * never counts as steady.
 *
 * @param percentPerMinute  of the mean
 */
export function isSteady(
  { wattsPerMinute, uWattsPerMinute, meanWatts }: Slope,
  percentPerMinute: number,
): boolean {
  return Math.abs(wattsPerMinute) + uWattsPerMinute < (percentPerMinute / 100) * Math.abs(meanWatts);
}
