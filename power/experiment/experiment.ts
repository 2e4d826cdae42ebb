import { SpikedError } from '../../client/protocol/errors.js';
import type { Meter } from '../meters/meter.js';
import { readClocks } from '../trace/clocks.js';
import { createTrace, type TraceWriter } from '../trace/writer.js';
import { conduct } from './conduct.js';
import type { Report } from './events.js';
import { makePart, type Past } from './folder.js';
import { Journal } from './journal.js';
import type { MeterFeed } from './meter-feed.js';
import type { Plan } from './plan.js';
import { planSha256 } from './read-plan.js';
import type { Subject } from './subject.js';

export interface ExperimentOptions {
  readonly plan: Plan;
  readonly folder: string;
  /** From `readFolder`. */
  readonly past: Past;
  /** Started, with `feed` as its sink. */
  readonly meter: Meter;
  readonly feed: MeterFeed;
  readonly subject: Subject;
  readonly report: Report;
  /** Its reason is what the experiment then throws. */
  readonly signal: AbortSignal;
  readonly reconnectMs: number;
}

/**
 * Carries out a plan, or what is left of it, as one more part of its folder (record.ts): idle, warm-up, blocks, idle. Whatever ends it, the meter
 * is stopped, the trace closed, and the journal says how it ended where that can still be written.
 *
 * @throws SpikedError ERR_CANCELLED as the signal says; ERR_METER_LOST;
 *   ERR_PLAN_INVALID the runs would be too short; ERR_EXPERIMENT_INVALID blocks failed more often than the plan allows; ERR_FILE_IO
 */
export async function runExperiment(options: ExperimentOptions): Promise<void> {
  const { plan, folder, past, meter, feed, signal } = options;
  const part = past.parts + 1;
  const trouble = new AbortController();
  let trace: TraceWriter | undefined;
  let journal: Journal | undefined;
  const failures: Error[] = [];
  const fail = (error: unknown) => {
    failures.push(error instanceof Error ? error : new Error(String(error)));
  };
  try {
    signal.throwIfAborted();
    const environment = await options.subject.describe();
    signal.throwIfAborted();
    trace = await createTrace(await makePart(folder, plan, part), header(meter, plan), {
      onFailure: (error) => trouble.abort(error),
    });
    feed.pass(trace);
    journal = await Journal.open(folder);
    const at = new Date().toISOString();
    await journal.add({ kind: 'part', part, at, plan_sha256: planSha256(plan), environment });
    await conduct(
      {
        ...options,
        part,
        journal,
        signal: AbortSignal.any([signal, trouble.signal]),
        updatePeriodNs: meter.traits.updatePeriodNs,
      },
      past,
      meter.traits,
    );
  } catch (error) {
    fail(error);
  }
  await meter.stop();
  await trace?.close().catch(fail);
  await journal?.add({ kind: 'end', part, ...endOf(failures[0]) }).catch(fail);
  await journal?.close();
  if (failures[0] !== undefined) throw failures[0];
}

function header(meter: Meter, { meter: given }: Plan): Parameters<typeof createTrace>[1] {
  return {
    format: 'spiked-trace',
    version: 1,
    meter: meter.identity,
    traits: {
      ...meter.traits,
      resolutionWatts: given.resolution_watts ?? meter.traits.resolutionWatts,
      accuracy: given.accuracy ?? meter.traits.accuracy,
    },
    anchor: readClocks(),
  };
}

function endOf(failure: Error | undefined): { how: 'complete' } | { how: 'aborted' | 'failed'; why: string } {
  if (failure === undefined) return { how: 'complete' };
  if (!(failure instanceof SpikedError)) return { how: 'failed', why: failure.message };
  if (failure.code === 'ERR_CANCELLED') return { how: 'aborted', why: failure.message };
  return { how: 'failed', why: `${failure.code}: ${failure.message}` };
}
