/** Width of a bin: 1 % of its value. */
const step = Math.log(1.01);
const lowest = 1e-6;
const highest = 1e6;
const bins = Math.ceil(Math.log(highest / lowest) / step) + 2;

/**
 * A histogram of positive numbers from 1e-6 to 1e6 in bins 1 % wide, in memory that does not grow. Quantiles are right to 1 %; counts,
 * sums, smallest and greatest are exact.
 */
export class LogHistogram {
  readonly #counts = new Uint32Array(bins);
  readonly #sums = new Float64Array(bins);
  #count = 0;
  #least = Infinity;
  #most = -Infinity;

  get count(): number {
    return this.#count;
  }

  /** Null without values. */
  get least(): number | null {
    return this.#count === 0 ? null : this.#least;
  }

  get most(): number | null {
    return this.#count === 0 ? null : this.#most;
  }

  /** Takes a value above 0. */
  add(value: number): void {
    const at = Math.ceil(Math.log(value / lowest) / step);
    const bin = Math.min(bins - 1, Math.max(0, at));
    this.#counts[bin] = (this.#counts[bin] ?? 0) + 1;
    this.#sums[bin] = (this.#sums[bin] ?? 0) + value;
    this.#count++;
    this.#least = Math.min(this.#least, value);
    this.#most = Math.max(this.#most, value);
  }

  /** The value below which the share `p` lies; null without values. */
  quantile(p: number): number | null {
    const rank = Math.max(1, Math.ceil(p * this.#count));
    let below = 0;
    for (let bin = 0; bin < bins; bin++) {
      const count = this.#counts[bin] ?? 0;
      below += count;
      if (count > 0 && below >= rank) return (this.#sums[bin] ?? 0) / count;
    }
    return null;
  }

  /** How many lie from `low` to `high`, and their mean; limits are met to 1 %. */
  between(low: number, high: number): { count: number; mean: number | null } {
    let count = 0;
    let sum = 0;
    for (let bin = 0; bin < bins; bin++) {
      const inBin = this.#counts[bin] ?? 0;
      if (inBin === 0) continue;
      const mean = (this.#sums[bin] ?? 0) / inBin;
      if (mean < low || mean > high) continue;
      count += inBin;
      sum += mean * inBin;
    }
    return { count, mean: count === 0 ? null : sum / count };
  }
}
