import { setTimeout as sleep } from 'node:timers/promises';
import { SpikedError } from '../../client/protocol/errors.js';
import type { Meter, MeterSink, Sample } from '../meters/meter.js';
import { UpdatePeriodMeter } from '../trace/update-period.js';
import { align, type Alignment } from './align.js';
import type { Load } from './load.js';
import { halfLengths, type Edge } from './wave.js';

export interface CalibrationRun {
  readonly edges: readonly Edge[];
  readonly samples: readonly Sample[];
  readonly updatePeriodNs: number;
  readonly alignment: Alignment;
}

export interface CalibrationOptions {
  /** Shortest half of the wave, s; longer where the meter needs it. */
  readonly halfSeconds: number;
  readonly cycles: number;
  readonly signal: AbortSignal;
  /** Everything that the meter says goes here, too. */
  readonly sink?: MeterSink;
  readonly onStep?: (done: number, total: number) => void;
}

/** Update periods that a half lasts at least: fewer do not show where an edge is. */
const leastPeriods = 6;

/**
 * Lets the machine work and rest by turns, records the meter meanwhile, and finds how late the meter tells of it. The meter is started here
 * and stopped at the end, whatever happens.
 *
 * @throws SpikedError ERR_METER_UNREACHABLE, ERR_METER_SILENT, ERR_METER_MISMATCH from the meter; ERR_METER_LOST it went away;
 *   ERR_CANCELLED
 */
export async function calibrate(
  meter: Meter,
  load: Load,
  { halfSeconds, cycles, signal, sink, onStep }: CalibrationOptions,
): Promise<CalibrationRun> {
  const samples: Sample[] = [];
  const edges: Edge[] = [];
  try {
    await meter.start({
      sample: (sample) => {
        samples.push(sample);
        sink?.sample(sample);
      },
      frame: (frame) => sink?.frame?.(frame),
    });
    const period = meter.traits.updatePeriodNs / 1e9;
    const halves = halfLengths(Math.max(halfSeconds, leastPeriods * period), cycles, period);
    const rest = halves[0] ?? halfSeconds;
    await pause(rest, signal);
    for (const [i, seconds] of halves.entries()) {
      const busy = i % 2 === 0;
      edges.push({ tNs: load.set(busy), busy });
      onStep?.(i, halves.length);
      await pause(seconds, signal);
    }
    // The end of the last rest; what the meter still has to tell of it comes in the pause.
    edges.push({ tNs: process.hrtime.bigint(), busy: false });
    await pause(rest / 2 + 2 * period, signal);
  } finally {
    load.set(false);
    await meter.stop();
  }
  const lost = samples.find(({ flags }) => flags.includes('lost'));
  if (lost !== undefined)
    throw new SpikedError('ERR_METER_LOST', `${meter.identity.address}: expected samples to the end, lost it during the wave; check the cable and try again`); // prettier-ignore
  const period = new UpdatePeriodMeter(meter.traits);
  for (const sample of samples) period.add(sample);
  const { periodNs: updatePeriodNs } = period.result();
  return { edges, samples, updatePeriodNs, alignment: align(samples, edges, meter.traits, updatePeriodNs) };
}

async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(seconds * 1000, undefined, { signal });
  } catch (error) {
    throw signal.aborted ? new SpikedError('ERR_CANCELLED', 'calibrate: cancelled', { cause: error }) : error;
  }
}
