import type { Rule } from '../meters/meter.js';

/**
 * Energy of a trace from 0 to `length`, s, in one pass. An interval between two usable samples counts when it is no longer than
 * `longest`, s; what it gives lies inside the window only. Over a longer one nothing is held or interpolated: it is a gap, and its
 * time is not covered.
 *
 * Backward rectangle: the sample at t is the mean over (t_prev, t]. Trapezoid: the power is linear between two samples.
 */
export class Integral {
  readonly #length: number;
  readonly #longest: number;
  readonly #rule: Rule;
  #last: { readonly t: number; readonly watts: number } | null = null;
  #joules = 0;
  #covered = 0;
  #largest = 0;

  constructor(length: number, longest: number, rule: Rule) {
    this.#length = length;
    this.#longest = longest * (1 + 1e-9);
    this.#rule = rule;
  }

  /** The next usable sample; t ascending, s from the window's start. True when the interval that it ends lies in the window and is a gap. */
  add(t: number, watts: number): boolean {
    const last = this.#last;
    this.#last = { t, watts };
    // What was before the first sample is not known: the time since the window's start is bare.
    const start = last?.t ?? Math.min(0, t);
    const a = Math.max(start, 0);
    const b = Math.min(t, this.#length);
    if (b <= a) return false;
    this.#largest = Math.max(this.#largest, t - start);
    if (t - start > this.#longest) return true;
    if (last === null) return false;
    this.#covered += b - a;
    this.#joules += (b - a) * this.#mean(last, t, watts, (a + b) / 2);
    return false;
  }

  /** The mean power between two edges inside one interval is, for a line, that of their middle. */
  #mean(last: { t: number; watts: number }, t: number, watts: number, middle: number): number {
    if (this.#rule === 'backward-rectangle') return watts;
    return last.watts + ((watts - last.watts) * (middle - last.t)) / (t - last.t);
  }

  /** Closes the window. True when the time from the last sample to its end is a gap. */
  end(): boolean {
    const bare = this.#length - Math.max(this.#last?.t ?? 0, 0);
    if (bare <= 0) return false;
    this.#largest = Math.max(this.#largest, bare);
    return bare > this.#longest;
  }

  /** J over the covered part; the window's energy only where `coverage` is whole. */
  get joules(): number {
    return this.#joules;
  }

  /** Covered share of the window, 0 to 1. */
  get coverage(): number {
    return Math.min(1, this.#covered / this.#length);
  }

  /** The longest time between two usable samples that touches the window, s. */
  get largestGap(): number {
    return this.#largest;
  }
}
