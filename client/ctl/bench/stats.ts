import type { Spread } from '../../../native/host/index.js';

export type { Spread };

/** Median and range; the median of an even count is the mean of the middle two. NaN for none. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (i: number) => sorted[i] ?? NaN;
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2;
  return { median, min: at(0), max: at(sorted.length - 1) };
}

/** A B C A B C: what drifts on a machine then falls on every setting alike. */
export function* interleave<T>(
  settings: readonly T[],
  repetitions: number,
): Generator<{ setting: T; repetition: number }> {
  for (let repetition = 0; repetition < repetitions; repetition++)
    for (const setting of settings) yield { setting, repetition };
}

/** 1, 2, 3 … `most`. */
export function everyCount(most: number): number[] {
  return Array.from({ length: most }, (_, i) => i + 1);
}
