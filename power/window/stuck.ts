import type { Sample } from '../meters/meter.js';

/** So many update periods with the same V, I and P: mains voltage always moves in its last digit, so nobody measures any more. */
export const stuckPeriods = 10;

/** Watches for a meter that answers and no longer measures. One that shows no volts or no amps is exempt: equal watts prove nothing. */
export class StuckRule {
  #last: readonly number[] | null = null;
  #periods = 0;
  /** Longest run of equal readings, update periods. */
  longest = 0;
  /** No sample had volts and amps. */
  exempt = true;

  /** @param begins  whether the sample begins an update period */
  add(sample: Sample, begins: boolean): void {
    const { watts, volts, amps } = sample;
    const now = watts === null || volts === null || amps === null ? null : [watts, volts, amps];
    if (now !== null) this.exempt = false;
    const same = now !== null && this.#last !== null && now.every((value, i) => value === this.#last?.[i]);
    if (!same) this.#periods = 0;
    if (begins && now !== null) this.#periods += 1;
    this.#last = now;
    this.longest = Math.max(this.longest, this.#periods);
  }
}
