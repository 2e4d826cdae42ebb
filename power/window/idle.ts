import type { IdlePower, PowerFigures, Value } from './figures.js';

const meanOf = (values: readonly number[]): number => values.reduce((sum, x) => sum + x, 0) / values.length;

/**
 * Power of the idle machine around a run, from the figures of its idle windows (`openPower`): before and after, or the one there is.
 *
 * The value is their mean. A machine that drifted was somewhere between the two, so their distance goes in as a rectangle; the step of
 * the meter is a bias of both and does not become smaller.
 *
 * @returns null when no window is valid
 * @source energy-method.md, 2.6
 */
export function idlePower(windows: readonly PowerFigures[]): IdlePower | null {
  const means = windows.map((w) => w.mean_watts).filter((v): v is Value => v !== null);
  if (means.length === 0) return null;
  const watts = means.map((v) => v.value);
  const apart = Math.max(...watts) - Math.min(...watts);
  const spread = Math.hypot(...means.map((v) => v.u.repeatability));
  const resolution = Math.max(...means.map((v) => v.u.resolution));
  const repeatability = Math.hypot(spread / means.length, apart / Math.sqrt(12));
  return {
    watts: meanOf(watts),
    uWatts: Math.hypot(resolution, repeatability),
    uResolutionWatts: resolution,
    uRepeatabilityWatts: repeatability,
    drifted: apart > 2 * Math.hypot(...means.map((v) => Math.hypot(v.u.repeatability, v.u.resolution))),
  };
}
