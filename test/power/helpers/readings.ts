import { openMeter } from '../../../power/meters/open.js';
import type { Frame, Meter, Sample } from '../../../power/meters/meter.js';

import { stopSimulated } from './simulated.js';

/** A started meter and what it has pushed so far. */
export interface Reading {
  readonly meter: Meter;
  readonly samples: Sample[];
  readonly frames: Frame[];
  /** Resolves with the first sample that fits, past ones too; rejects when none comes within the time. */
  until(what: string, fits: (sample: Sample) => boolean, ms?: number): Promise<Sample>;
  /** Resolves when so many samples are there. */
  count(n: number, ms?: number): Promise<readonly Sample[]>;
}

const open = new Set<Meter>();

/** For a test file's `after`: ends the meters and simulators that a failed test left. */
export async function endAll(): Promise<void> {
  await Promise.all([...open].map((meter) => meter.stop()));
  stopSimulated();
}

/** Opens and starts the meter of an address. */
export async function reading(address: string): Promise<Reading> {
  const meter = openMeter(address);
  open.add(meter);
  const samples: Sample[] = [];
  const frames: Frame[] = [];
  await meter.start({
    sample: (sample) => void samples.push(sample),
    frame: (frame) => void frames.push(frame),
  });
  const poll = async <T>(what: string, ms: number, find: () => T | undefined): Promise<T> => {
    for (const end = performance.now() + ms; ;) {
      const found = find();
      if (found !== undefined) return found;
      if (performance.now() > end)
        throw new Error(`${address}: waited ${String(ms)} ms for ${what}; had ${describe(samples)}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  return {
    meter,
    samples,
    frames,
    until: (what, fits, ms = 10_000) => poll(what, ms, () => samples.find(fits)),
    count: (n, ms = 10_000) =>
      poll(`${String(n)} samples`, ms, () => (samples.length < n ? undefined : samples)),
  };
}

function describe(samples: readonly Sample[]): string {
  return samples.map(({ watts, flags }) => [watts, ...flags].join('|')).join(' ');
}
