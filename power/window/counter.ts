import type { Sample } from '../meters/meter.js';

/**
 * Joules of the meter's own counter from its last reading at or before 0 to its last one at or before `length`, s: a cross-check, not
 * the result. A counter that fell (reset, or a register that came round) has no difference that means anything.
 */
export class CounterCheck {
  readonly #length: number;
  #start: number | null = null;
  #last: number | null = null;
  /** Smallest rise seen: what the counter can tell at all. */
  #step = Infinity;
  /** It fell inside the window. */
  reset = false;

  constructor(length: number) {
    this.#length = length;
  }

  add(t: number, sample: Sample): void {
    const { joules } = sample;
    if (t > this.#length || joules === null || !Number.isFinite(joules)) return;
    if (t <= 0) this.#start = joules;
    else if (this.#last !== null) {
      const rise = joules - this.#last;
      if (rise < 0 || sample.flags.includes('counter-reset')) this.reset = true;
      if (rise > 0) this.#step = Math.min(this.#step, rise);
    }
    this.#last = joules;
  }

  /** J, null without readings on both sides of the window's start or after a reset. Never negative. */
  get joules(): number | null {
    if (this.#start === null || this.#last === null || this.reset) return null;
    const joules = this.#last - this.#start;
    return Number.isFinite(joules) && joules >= 0 ? joules : null;
  }

  /** One sentence when the counter contradicts `joules`; its readings lie up to one sample off each edge and have a step. */
  contradiction(joules: number, wattsTimesPeriod: number): string | null {
    const counted = this.joules;
    if (counted === null || !Number.isFinite(this.#step)) return null;
    const tolerance = 2 * this.#step + 2 * wattsTimesPeriod + 0.02 * joules;
    if (Math.abs(counted - joules) <= tolerance) return null;
    return `the meter's own counter gives ${counted.toPrecision(4)} J, the integrated samples ${joules.toPrecision(4)} J: check profile and scale`;
  }
}
