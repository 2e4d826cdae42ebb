import type { Reason } from '../window/figures.js';
import { leastTrimNs, neededSeconds, neededText, possibleSeconds } from '../window/length.js';
import { rateOf } from './pilot.js';
import type { Plan } from './plan.js';
import type { Generated } from './subject.js';

/**
 * Why a run is too short for any figure of the plan's window, known as soon as it has ended; null when it may be long enough. The meter's
 * nominal period decides, as in the preview.
 */
export function tooShortRun(plan: Plan, updatePeriodNs: number, run: Generated): Reason | null {
  const period = updatePeriodNs / 1e9;
  const trim = Math.max(plan.trim_s, leastTrimNs(updatePeriodNs, plan.meter.latency_s * 1e9) / 1e9);
  const [from, to] =
    plan.window === 'decode'
      ? [run.marksNs[0] ?? run.sentNs, run.marksNs.at(-1) ?? run.sentNs]
      : [run.sentNs, run.answeredNs];
  const lasted = Number(to - from) / 1e9;
  if (lasted >= possibleSeconds(trim, period)) return null;
  const needed = neededText(neededSeconds(trim, period), rateOf(run.marksNs));
  return {
    reason: 'window-too-short',
    text: `${lasted.toPrecision(3)} s, of which ${trim.toPrecision(3)} s are trimmed each end: let the run last ${needed}`,
  };
}
