/** More values than that have as small a step as they will show. */
const mostValues = 4096;

/** Watches the values of a meter for their smallest step, in memory that does not grow. */
export class StepSeen {
  readonly #values = new Set<number>();

  add(watts: number): void {
    if (this.#values.size < mostValues) this.#values.add(watts);
  }

  /** Different values so far; no more than 4096 are told apart. */
  get values(): number {
    return this.#values.size;
  }

  /** The smallest difference between two values, W; null while there are not two. */
  get watts(): number | null {
    const sorted = [...this.#values].sort((a, b) => a - b);
    let least = Infinity;
    for (let i = 1; i < sorted.length; i++) {
      const [low = 0, high = 0] = [sorted[i - 1], sorted[i]];
      // 10.3 and 10.2 differ by 0.1 and some bits of a double.
      const step = high - low;
      if (step > 1e-9 * Math.max(1, Math.abs(high))) least = Math.min(least, step);
    }
    return least === Infinity ? null : Number(least.toPrecision(6));
  }
}
