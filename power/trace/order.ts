import type { Sample } from '../meters/meter.js';
import { LineFault } from './sample-line.js';

/**
 * Holds samples to ascending time, one after the other. An equal stamp is the same reading written twice when all values are equal,
 * and a contradiction when not.
 */
export class AscendingTimes {
  #last: Sample | null = null;
  #merged = 0;

  /** Samples that were dropped as the same as the one before. */
  get merged(): number {
    return this.#merged;
  }

  /**
   * Whether the sample is a new one; false for one that was there already.
   *
   * @throws LineFault its time is before, or equal with other values
   */
  isNew(sample: Sample): boolean {
    const last = this.#last;
    if (last !== null && sample.tNs <= last.tNs) {
      if (sample.tNs < last.tNs)
        throw new LineFault(
          `expected a time after ${last.tNs}, of the sample before, found ${sample.tNs}, ${Number(last.tNs - sample.tNs) / 1e9} s earlier`,
        );
      if (!sameReading(sample, last))
        throw new LineFault(
          `expected one reading at ${sample.tNs}, found a second with other values: ${describe(sample)} after ${describe(last)}`,
        );
      this.#merged++;
      return false;
    }
    this.#last = sample;
    return true;
  }
}

function sameReading(a: Sample, b: Sample): boolean {
  return (
    a.watts === b.watts &&
    a.volts === b.volts &&
    a.amps === b.amps &&
    a.joules === b.joules &&
    a.flags.join() === b.flags.join()
  );
}

function describe({ watts, volts, amps, flags }: Sample): string {
  const parts = [unit(watts, 'W'), unit(volts, 'V'), unit(amps, 'A'), ...flags].filter((part) => part !== '');
  return parts.length === 0 ? 'nothing' : parts.join(' ');
}

const unit = (value: number | null, name: string): string => (value === null ? '' : `${value} ${name}`);
