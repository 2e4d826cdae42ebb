import { SpikedError } from '../../client/protocol/errors.js';
import type { JournalEntry, PartEntry } from '../experiment/record.js';
import type { Plan } from '../experiment/plan.js';
import type { MeterTraits } from '../meters/meter.js';
import { compareClocks } from '../trace/clocks.js';
import { UpdatePeriodMeter } from '../trace/update-period.js';
import { openTrace, type Trace } from '../trace/reader.js';
import { faultOf } from '../window/usable.js';
import { traceFolder } from './folder.js';
import type { PartResult } from './result.js';

/** A part's trace and what its figures need. */
export interface PartReading {
  readonly part: number;
  readonly trace: Trace;
  readonly traits: MeterTraits;
  readonly updatePeriodNs: number;
  readonly latencyNs: number;
  readonly result: PartResult;
  /** Whole sentences about it. */
  readonly notes: readonly string[];
}

/**
 * Reads a part's trace once, whole, as a stream: that it is sound, and how often the meter gave a new value.
 *
 * @throws SpikedError ERR_TRACE_INVALID, ERR_FILE_NOT_FOUND
 */
export async function readPart(
  dir: string,
  plan: Plan,
  entry: PartEntry,
  entries: readonly JournalEntry[],
): Promise<PartReading> {
  const { part } = entry;
  const trace = await openTrace(traceFolder(dir, part));
  const { header } = trace;
  const { resolution_watts: step, accuracy, latency_s: latency } = plan.meter;
  const traits: MeterTraits = {
    ...header.traits,
    resolutionWatts: step ?? header.traits.resolutionWatts,
    accuracy: accuracy ?? header.traits.accuracy,
  };
  const period = new UpdatePeriodMeter(traits);
  let [samples, unusable] = [0, 0];
  for await (const sample of trace.samples()) {
    samples++;
    if (faultOf(sample, traits) !== null) unusable++;
    period.add(sample);
  }
  const measured = period.result();
  const own = entries.filter((one) => one.part === part);
  const end = own.find((one) => one.kind === 'end');
  const warm = own.find((one) => one.kind === 'warm-up');
  const clocks = header.anchor && header.end ? compareClocks(header.anchor, header.end).notes : [];
  const notes = [
    ...clocks,
    ...(header.end ? [] : ['Its trace has no end: the recording was cut off.']),
    ...(trace.torn === null ? [] : [trace.torn.replaceAll(`${dir}/`, '')]),
    ...measured.warnings,
    ...(warm?.steady === false ? ['The power was not steady at the end of the warm-up.'] : []),
  ];
  return {
    part,
    trace,
    traits,
    updatePeriodNs: measured.periodNs,
    latencyNs: latency * 1e9,
    result: {
      part,
      at: entry.at,
      meter: header.meter,
      rule: traits.rule,
      resolution_watts: traits.resolutionWatts,
      accuracy: traits.accuracy,
      nominal_period_s: traits.updatePeriodNs / 1e9,
      update_period_s: measured.periodNs / 1e9,
      update_period_basis: measured.basis,
      sample_interval_s: measured.sampleInterval_s,
      samples,
      unusable_samples: unusable,
      warm_up: warm === undefined ? null : { seconds: warm.seconds, steady: warm.steady, watts_per_minute: warm.watts_per_minute },
      ended: end?.how ?? 'unfinished',
      why: end?.why ?? null,
      environment: entry.environment,
    },
    notes: notes.map((note) => `Part ${part}: ${note}`),
  }; // prettier-ignore
}

/** The part of an entry. @throws SpikedError ERR_INTERNAL: the journal was checked before */
export function partOf(parts: readonly PartReading[], part: number): PartReading {
  const found = parts.find((one) => one.part === part);
  if (found === undefined) throw new SpikedError('ERR_INTERNAL', `part ${part} of the journal was not read`);
  return found;
}
