import type { MeterTraits, Sample } from '../meters/meter.js';
import { LogHistogram } from './log-histogram.js';

/** Fewer intervals say nothing. */
const fewest = 8;
/** A difference from the profile that is worth a warning (energy-method, section 4, case 14). */
const tolerance = 0.2;

/** What was measured of the time between new values. */
export interface UpdatePeriod {
  /** To be used in place of the profile's. */
  readonly periodNs: number;
  /**
   * What it stands on: `new-values` their intervals; `samples` the meter pushes, so every sample is a new value; `profile` too little
   * changed, and the profile's (or the samples' interval, where that is longer) was taken.
   */
  readonly basis: 'new-values' | 'samples' | 'profile';
  /** Intervals that it was measured from. */
  readonly intervals: number;
  /** Of those intervals, s; null without any. */
  readonly distribution: Distribution | null;
  /** Median time between two samples, new or not, s. */
  readonly sampleInterval_s: number | null;
  /** Share of samples that repeat the one before: high when polled faster than the meter updates. */
  readonly repeated: number | null;
  /** Sentences; empty when all is as the profile says. */
  readonly warnings: readonly string[];
}

export interface Distribution {
  readonly least: number;
  readonly p5: number;
  readonly median: number;
  readonly p95: number;
  readonly most: number;
}

interface Cluster {
  readonly count: number;
  readonly mean: number | null;
}

/**
 * The update period of a meter, measured while its samples go by, in memory that does not grow.
 *
 * A polled meter repeats its value until the next update, so what counts are the times between values that differ. Some of those
 * intervals span several updates (two equal values, a gap): the period is the mean of the cluster that the shortest common intervals
 * begin, and the others are left out.
 */
export class UpdatePeriodMeter {
  readonly #changes = new LogHistogram();
  readonly #samples = new LogHistogram();
  #last: Sample | null = null;
  #changedNs: bigint | null = null;
  #repeats = 0;

  constructor(private readonly traits: Pick<MeterTraits, 'updatePeriodNs' | 'pushes'>) {}

  add(sample: Sample): void {
    if (sample.flags.includes('lost')) {
      this.#last = this.#changedNs = null;
      return;
    }
    const last = this.#last;
    this.#last = sample;
    if (last === null) return;
    this.#samples.add(seconds(sample.tNs - last.tNs));
    if (!this.traits.pushes && same(sample, last)) {
      this.#repeats++;
      return;
    }
    // The first change ends an interval whose begin nobody saw.
    if (this.#changedNs !== null) this.#changes.add(seconds(sample.tNs - this.#changedNs));
    this.#changedNs = sample.tNs;
  }

  result(): UpdatePeriod {
    const nominal = this.traits.updatePeriodNs / 1e9;
    const interval = this.#samples.quantile(0.5);
    const found = this.#cluster(interval ?? 0);
    const measured = found.count >= fewest ? found.mean : null;
    const period = measured ?? Math.max(nominal, interval ?? 0);
    return {
      periodNs: period * 1e9,
      basis: measured === null ? 'profile' : this.traits.pushes ? 'samples' : 'new-values',
      intervals: found.count,
      distribution: distributionOf(this.#changes),
      sampleInterval_s: interval,
      repeated: this.#samples.count === 0 ? null : this.#repeats / this.#samples.count,
      warnings: this.#warnings(measured, nominal, interval),
    };
  }

  /**
   * Read hardly faster than it updates, a meter shows an update now at the next poll, now at the one after; equal values in a row look
   * the same. Then the profile says which of the two it is.
   */
  #cluster(interval: number): Cluster {
    const nominal = this.traits.updatePeriodNs / 1e9;
    const distance = ({ mean }: Cluster): number => Math.abs(Math.log((mean ?? Infinity) / nominal));
    const narrow = this.#around(0);
    const wide = this.#around(1.02 * interval);
    return distance(wide) < distance(narrow) ? wide : narrow;
  }

  /** Intervals around the shortest common ones: by half of them, where the meter is irregular, or by `slack`. */
  #around(slack: number): Cluster {
    let period = this.#changes.quantile(0.1);
    let found: Cluster = { count: 0, mean: null };
    // The mean moves the limits, which move the mean: at rest after a few rounds.
    for (let round = 0; round < 8 && period !== null; round++) {
      const by = Math.max(period / 2, slack);
      found = this.#changes.between(period - by, period + by);
      period = found.mean;
    }
    return found;
  }

  #warnings(measured: number | null, nominal: number, interval: number | null): string[] {
    if (this.#samples.count < fewest)
      return [`Only ${this.#samples.count + 1} samples: the update period was not measured.`];
    if (measured === null)
      return interval !== null && interval > nominal * (1 + tolerance)
        ? [`Samples come every ${text(interval)}, the profile says ${text(nominal)}.`]
        : [
            `The value hardly changes: the update period was not measured, the profile's ${text(nominal)} is used.`,
          ];
    if (Math.abs(measured / nominal - 1) <= tolerance) return [];
    const by = measured > nominal ? 'slower' : 'faster';
    const polled =
      interval !== null && measured < interval * 1.2 && measured > nominal && !this.traits.pushes
        ? ' It is read no faster than that.'
        : '';
    return [`A new value comes every ${text(measured)}, ${by} than the profile's ${text(nominal)}.${polled}`];
  }
}

/** The same over samples at hand. */
export async function measureUpdatePeriod(
  samples: Iterable<Sample> | AsyncIterable<Sample>,
  traits: Pick<MeterTraits, 'updatePeriodNs' | 'pushes'>,
): Promise<UpdatePeriod> {
  const meter = new UpdatePeriodMeter(traits);
  for await (const sample of samples) meter.add(sample);
  return meter.result();
}

function same(a: Sample, b: Sample): boolean {
  return a.watts === b.watts && a.volts === b.volts && a.amps === b.amps && a.joules === b.joules;
}

function distributionOf(histogram: LogHistogram): Distribution | null {
  const [least, p5, median, p95, most] = [
    histogram.least,
    histogram.quantile(0.05),
    histogram.quantile(0.5),
    histogram.quantile(0.95),
    histogram.most,
  ];
  if (least === null || p5 === null || median === null || p95 === null || most === null) return null;
  return { least, p5, median, p95, most };
}

const seconds = (ns: bigint): number => Number(ns) / 1e9;
const text = (s: number): string =>
  s < 0.0995 ? `${(s * 1000).toPrecision(3)} ms` : `${s.toPrecision(3)} s`;
