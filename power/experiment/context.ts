import type { Report } from './events.js';
import type { Journal } from './journal.js';
import type { MeterFeed } from './meter-feed.js';
import type { Plan } from './plan.js';
import type { Subject } from './subject.js';

/** What every step of one start of an experiment works with. */
export interface Context {
  readonly plan: Plan;
  readonly folder: string;
  readonly part: number;
  readonly subject: Subject;
  readonly feed: MeterFeed;
  readonly journal: Journal;
  readonly report: Report;
  /** Aborted by the caller, or because the trace can no longer be written. */
  readonly signal: AbortSignal;
  /** Nominal, of the meter. */
  readonly updatePeriodNs: number;
  /** A lost meter may take so long to come back. */
  readonly reconnectMs: number;
}

export const nowNs = (): bigint => process.hrtime.bigint();
