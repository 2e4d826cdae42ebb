import { setTimeout as sleep } from 'node:timers/promises';
import { nowNs, type Context } from './context.js';
import { meanWatts } from './meter-feed.js';
import { rateOf } from './pilot.js';
import { isSteady, slopeOf, type Slope } from './slope.js';
import { untilMeterIsBack } from './waiting.js';

const lookMs = 500;
/** Of a run that says something of an arm's speed. */
const fewestSeconds = 0.5;

/** What the machine showed under load. */
export interface Warmed {
  /** By arm: tokens per second of its fastest run. */
  readonly fastest: ReadonlyMap<string, number>;
  /** Mean over the later half; null without a reading, and without a warm-up. */
  readonly watts: number | null;
}

/**
 * Runs the arms in turn, for nothing, until power is steady over the later half of the warm-up (over `min_s` at least), or `max_s` are over.
 *
 * @throws SpikedError why an arm cannot run; what the signal was aborted with
 */
export async function warmUp(context: Context, tokens: number): Promise<Warmed> {
  const { plan, subject, feed, report, signal } = context;
  const { min_s: least, max_s: most, slope_percent_per_min: limit } = plan.warm_up;
  const fastest = new Map<string, number>();
  if (most === 0) return { fastest, watts: null };
  await untilMeterIsBack(context);
  report({ kind: 'phase', text: 'warm-up', seconds: least });
  const enough = new AbortController();
  const startNs = nowNs();
  const elapsed = () => Number(nowNs() - startNs) / 1e9;
  let slope: Slope | null = null;
  const watching = (async () => {
    for (;;) {
      await sleep(lookMs, undefined, { signal: enough.signal });
      const seconds = elapsed();
      const backNs = BigInt(Math.round(Math.max(least, seconds / 2) * 1e9));
      const now = nowNs();
      slope = seconds < least ? null : slopeOf(feed.between(now - backNs, now));
      if (seconds >= most || (slope !== null && isSteady(slope, limit))) return;
    }
  })()
    .catch(() => undefined)
    .finally(() => enough.abort());
  try {
    const either = AbortSignal.any([signal, enough.signal]);
    const ended = () => either.aborted;
    for (let i = 0; !ended(); i++) {
      const arm = plan.arms[i % plan.arms.length]?.name ?? '';
      const run = await subject.generate(arm, tokens, either);
      signal.throwIfAborted();
      if (run.failure !== null && !ended()) throw run.failure;
      const rate = rateOf(run.marksNs, fewestSeconds);
      if (rate !== null) fastest.set(arm, Math.max(rate, fastest.get(arm) ?? 0));
    }
  } finally {
    enough.abort();
    await watching;
  }
  signal.throwIfAborted();
  const endNs = nowNs();
  const watts = meanWatts(feed.between((startNs + endNs) / 2n, endNs));
  await tell(context, elapsed(), slope);
  return { fastest, watts };
}

async function tell(
  { plan, part, journal, report }: Context,
  seconds: number,
  slope: Slope | null,
): Promise<void> {
  const limit = plan.warm_up.slope_percent_per_min;
  const steady = slope !== null && isSteady(slope, limit);
  const perMinute = slope?.wattsPerMinute ?? null;
  await journal.add({ kind: 'warm-up', part, seconds, steady, watts_per_minute: perMinute });
  if (steady) return;
  const found =
    slope === null
      ? 'too few readings'
      : `${((100 * slope.wattsPerMinute) / slope.meanWatts).toFixed(2)} ± ${((100 * slope.uWattsPerMinute) / Math.abs(slope.meanWatts)).toFixed(2)} %/min`;
  report({
    kind: 'remark',
    text: `warm-up: expected a slope of power below ${limit} %/min, found ${found} after ${plan.warm_up.max_s} s; going on, as the order of the runs cancels a steady drift`,
  });
}
