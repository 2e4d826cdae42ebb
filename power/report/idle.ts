import type { IdleEntry, JournalEntry, RunEntry } from '../experiment/record.js';
import type { IdlePower, PowerFigures } from '../window/figures.js';
import { idlePower } from '../window/idle.js';
import { partOf, type PartReading } from './part.js';
import type { IdleResult } from './result.js';
import { powerFrom } from './trace-figures.js';

export interface IdleReading {
  readonly entry: IdleEntry;
  readonly figures: PowerFigures;
  readonly result: IdleResult;
}

/** The figures of every idle window, in the order of time. @throws SpikedError ERR_TRACE_INVALID */
export async function readIdles(
  parts: readonly PartReading[],
  entries: readonly JournalEntry[],
  trimNs: number,
): Promise<IdleReading[]> {
  const readings: IdleReading[] = [];
  for (const entry of entries) {
    if (entry.kind !== 'idle') continue;
    const { trace, traits, updatePeriodNs, latencyNs } = partOf(parts, entry.part);
    const [fromNs, toNs] = [BigInt(entry.from_ns), BigInt(entry.to_ns)];
    const figures = await powerFrom(trace, { traits, updatePeriodNs, latencyNs, fromNs, toNs, trimNs });
    const result = {
      part: entry.part,
      after_block: entry.after_block,
      from_ns: entry.from_ns,
      to_ns: entry.to_ns,
      watts: figures.mean_watts,
      samples: figures.samples,
      reasons: figures.reasons,
    };
    readings.push({ entry, figures, result });
  }
  return readings;
}

/** Idle power of a run: from the last idle window before it and the first after it, of the same start of the program. */
export function idleAround(readings: readonly IdleReading[], run: RunEntry): IdlePower | null {
  const own = readings.filter(({ entry, figures }) => entry.part === run.part && figures.valid);
  const before = own.filter(({ entry }) => BigInt(entry.to_ns) <= BigInt(run.sent_ns)).at(-1);
  const after = own.find(({ entry }) => BigInt(entry.from_ns) >= BigInt(run.answered_ns));
  return idlePower([before, after].flatMap((one) => (one === undefined ? [] : [one.figures])));
}
