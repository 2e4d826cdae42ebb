/** A new update period begins when so much of one has passed: polls of one period stay together, jitter does not merge two. */
const nextPeriod = 0.9;

/**
 * Statistics with one value an update period, the first that was polled in it, in one pass: polls that are faster than the meter's updates
 * repeat a value and are no new measurement.
 */
export class PeriodStatistics {
  readonly #period: number;
  #began = -Infinity;
  /** Values count relative to the first (which is 0 then), so that nothing cancels. */
  #origin = 0;
  #n = 0;
  #previous = 0;
  #s1 = 0;
  #s2 = 0;
  #lagged = 0;

  /** @param period  s */
  constructor(period: number) {
    this.#period = period;
  }

  /** The next usable sample at t, s. True when it begins an update period. */
  add(t: number, watts: number): boolean {
    if (t < this.#began + nextPeriod * this.#period) return false;
    this.#began = t;
    if (this.#n === 0) this.#origin = watts;
    const x = watts - this.#origin;
    this.#n += 1;
    this.#s1 += x;
    this.#s2 += x * x;
    this.#lagged += this.#previous * x;
    this.#previous = x;
    return true;
  }

  /** Count of periods, standard deviation of their values, and lag-1 autocorrelation (0 where nothing varies). */
  end(): { readonly n: number; readonly sd: number | null; readonly rho: number } {
    const n = this.#n;
    if (n < 2) return { n, sd: null, rho: 0 };
    const mean = this.#s1 / n;
    const squares = Math.max(0, this.#s2 - n * mean * mean);
    if (squares === 0) return { n, sd: 0, rho: 0 };
    // Sum over i of (x_i - m)(x_i+1 - m): the inner sums are s1 without the last, and s1 without the first, which is 0.
    const lagged = this.#lagged - mean * (2 * this.#s1 - this.#previous) + (n - 1) * mean * mean;
    return { n, sd: Math.sqrt(squares / (n - 1)), rho: Math.max(-1, Math.min(1, lagged / squares)) };
  }
}

/**
 * How many independent values n correlated ones are worth: n (1 - rho) / (1 + rho), never more than n and never less than 1.
 *
 * @source energy-method.md, 2.2 and 5
 */
export function effectiveCount(n: number, rho: number): number {
  return Math.max(1, rho <= 0 ? n : (n * (1 - rho)) / (1 + rho));
}
