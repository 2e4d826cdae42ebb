import type { MeterTraits, Sample } from '../meters/meter.js';
import { faultOf } from '../window/usable.js';
import { gapPeriods } from '../window/length.js';
import { StepSeen } from './step-seen.js';
import { UnitCheckMeter, type UnitCheck } from './unit-check.js';
import { UpdatePeriodMeter, type UpdatePeriod } from './update-period.js';

/** What there is in a trace so far. */
export interface TallyResult {
  readonly samples: number;
  /** Of them; they count as missing. */
  readonly unusable: number;
  readonly flags: Readonly<Record<string, number>>;
  /** Intervals between usable samples that are longer than 2.5 update periods. */
  readonly gaps: number;
  readonly largest_gap_s: number | null;
  /** From the first sample to the last, s. */
  readonly seconds: number;
  readonly least_watts: number | null;
  readonly most_watts: number | null;
  /** Smallest difference between two values, W. */
  readonly step_watts: number | null;
  /** How often the meter's own energy counter fell (reset, or a register that came round); what fell is nowhere counted. */
  readonly counter_resets: number;
  readonly period: UpdatePeriod;
  readonly units: UnitCheck;
}

/** Counts samples as they go by, in memory that does not grow. */
export class Tally {
  readonly #traits: MeterTraits;
  readonly #period: UpdatePeriodMeter;
  readonly #units: UnitCheckMeter;
  readonly #step = new StepSeen();
  readonly #flags: Record<string, number> = {};
  #samples = 0;
  #unusable = 0;
  #gaps = 0;
  #largestGap = 0;
  #first: bigint | null = null;
  #last: Sample | null = null;
  #usableNs: bigint | null = null;
  #least = Infinity;
  #most = -Infinity;
  #resets = 0;
  #joules: number | null = null;

  constructor(traits: MeterTraits) {
    this.#traits = traits;
    this.#period = new UpdatePeriodMeter(traits);
    this.#units = new UnitCheckMeter(traits.current);
  }

  get samples(): number {
    return this.#samples;
  }

  get gaps(): number {
    return this.#gaps;
  }

  /** The one that came last. */
  get last(): Sample | null {
    return this.#last;
  }

  /** The meter went away and is not back. */
  get lost(): boolean {
    return this.#last?.flags.includes('lost') ?? false;
  }

  add(sample: Sample): void {
    this.#samples++;
    this.#first ??= sample.tNs;
    this.#last = sample;
    for (const flag of sample.flags) this.#flags[flag] = (this.#flags[flag] ?? 0) + 1;
    this.#countEnergy(sample);
    this.#period.add(sample);
    if (faultOf(sample, this.#traits) !== null || sample.watts === null) {
      this.#unusable++;
      return;
    }
    this.#units.add(sample);
    this.#step.add(sample.watts);
    this.#least = Math.min(this.#least, sample.watts);
    this.#most = Math.max(this.#most, sample.watts);
    if (this.#usableNs !== null) this.#interval(Number(sample.tNs - this.#usableNs) / 1e9);
    this.#usableNs = sample.tNs;
  }

  #interval(seconds: number): void {
    const nominal = (gapPeriods * this.#traits.updatePeriodNs) / 1e9;
    // The measured period is asked only where it matters: a meter slower than its profile has no gap at each sample.
    if (seconds > nominal && seconds > (gapPeriods * this.#period.result().periodNs) / 1e9) this.#gaps++;
    this.#largestGap = Math.max(this.#largestGap, seconds);
  }

  #countEnergy({ joules, flags }: Sample): void {
    if (
      flags.includes('counter-reset') ||
      (joules !== null && this.#joules !== null && joules < this.#joules)
    )
      this.#resets++;
    this.#joules = joules ?? this.#joules;
  }

  result(): TallyResult {
    const usable = this.#samples > this.#unusable;
    return {
      samples: this.#samples,
      unusable: this.#unusable,
      flags: { ...this.#flags },
      gaps: this.#gaps,
      largest_gap_s: this.#largestGap > 0 ? this.#largestGap : null,
      seconds: this.#first === null || this.#last === null ? 0 : Number(this.#last.tNs - this.#first) / 1e9,
      least_watts: usable ? this.#least : null,
      most_watts: usable ? this.#most : null,
      step_watts: this.#step.watts,
      counter_resets: this.#resets,
      period: this.#period.result(),
      units: this.#units.result(),
    };
  }
}
