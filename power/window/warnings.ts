/** What a reader of a valid window should know. */
import { plural } from '../plural.js';
import { leastTrimNs } from './length.js';
import type { Seen } from './open-power.js';
import { checksumShare, checksumShares, wiringHint } from './validity.js';

/** The measured update period may differ from the nominal one by so much. */
const periodTolerance = 0.2;

/** P over V I of what can be right: any power factor that a supply has, or for direct current 1 with rounded digits. */
const plausible = { alternating: [0.1, 1.05], direct: [0.9, 1.1] } as const;

function periodWarning(seen: Seen): string[] {
  const nominal = seen.spec.traits.updatePeriodNs / 1e9;
  const off = Math.abs(seen.period / nominal - 1);
  if (!(off > periodTolerance)) return [];
  return [
    `the meter gives a value every ${seen.period.toPrecision(3)} s, its profile says ${nominal.toPrecision(3)} s: check the profile`,
  ];
}

function scaleWarning(seen: Seen): string[] {
  const factor = seen.voltAmpSum > 0 ? seen.wattSum / seen.voltAmpSum : null;
  const { current } = seen.spec.traits;
  const [low, high] = plausible[current];
  if (factor === null || (factor >= low && factor <= high)) return [];
  return [
    `watts are ${factor.toPrecision(3)} of volts times amps, ${low} to ${high} can be right for ${current} current: check profile, units and scale`,
  ];
}

/** Warnings of what came in, whether the window is valid or not. */
export function inputWarnings(seen: Seen): string[] {
  const { faults, spec, period } = seen;
  const warnings: string[] = [];
  if (seen.trim > spec.trimNs / 1e9 + 1e-9 && leastTrimNs(period * 1e9, spec.latencyNs) > spec.trimNs)
    warnings.push(
      `${seen.trim.toFixed(2)} s are trimmed each end, not ${(spec.trimNs / 1e9).toFixed(2)} s: two update periods of ${period.toFixed(2)} s and ${(spec.latencyNs / 1e9).toFixed(2)} s latency`,
    );
  warnings.push(...periodWarning(seen), ...scaleWarning(seen));
  if (faults.negative > 0) warnings.push(`${plural(faults.negative, 'reading')} dropped, ${wiringHint}`);
  if (faults.suspect > 0)
    warnings.push(
      `${plural(faults.suspect, 'reading')} dropped that ${faults.suspect === 1 ? 'breaks' : 'break'} physics`,
    );
  if (faults['no-value'] > 0) warnings.push(`${plural(faults['no-value'], 'reading')} without a value`);
  const share = checksumShare(seen);
  if (share > checksumShares.warn)
    warnings.push(
      `${(100 * share).toPrecision(2)} % of the frames have a wrong checksum: check cable, ground and speed`,
    );
  if (seen.counter.reset) warnings.push("the meter's own counter fell: no cross-check");
  if (seen.stuck.exempt && seen.usable > 0)
    warnings.push('the meter gives no volts and amps: whether it is stuck cannot be told');
  return warnings;
}
