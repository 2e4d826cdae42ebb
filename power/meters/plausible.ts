import type { SampleFlag } from './meter.js';

/** Values of one moment; null where the meter gives none. */
export interface Quantities {
  readonly watts: number | null;
  readonly volts: number | null;
  readonly amps: number | null;
  readonly powerFactor?: number | null;
}

/** What is known of a meter's values. Steps are 0 where the meter gives floating-point numbers. */
export interface Limits {
  readonly current: 'alternating' | 'direct';
  readonly maxWatts: number | null;
  readonly maxAmps?: number | null;
  /** What it may show when it is connected. */
  readonly voltsBetween?: readonly [number, number] | null;
  readonly steps: { readonly watts: number; readonly volts: number; readonly amps: number };
}

/** P may exceed V I by so much: the three are not of the very same moment. */
const apparentShare = 1.05;
/** Power factor as shown and as computed. */
const powerFactorWithin = 0.05;
/** At connection: lower shares of V I are another unit or another map, unless the meter's own power factor says the same. */
const leastShare = { alternating: 0.02, direct: 0.5 };

/** The least and the greatest V I that the shown values can stand for: each is right within its step. VA. */
function apparent({ volts, amps }: Quantities, { steps }: Limits): readonly [number, number] | null {
  if (volts === null || amps === null) return null;
  const [v, i] = [Math.abs(volts), Math.abs(amps)];
  const least = Math.max(0, v - steps.volts) * Math.max(0, i - steps.amps);
  return [least, (v + steps.volts) * (i + steps.amps)];
}

function powerFactorFits(values: Quantities, limits: Limits, range: readonly [number, number]): boolean {
  const { watts, powerFactor = null } = values;
  if (watts === null || powerFactor === null) return true;
  const p = Math.abs(watts);
  const low = Math.max(0, p - limits.steps.watts) / range[1] - powerFactorWithin;
  const high = range[0] === 0 ? Infinity : (p + limits.steps.watts) / range[0] + powerFactorWithin;
  return Math.abs(powerFactor) >= low && Math.abs(powerFactor) <= high;
}

/**
 * What is wrong with a reading, by physics and by the meter's range: `no-value` without watts, `negative` on alternating current,
 * `saturated` above the greatest current, `suspect` for P > 1.05 V I, a power factor that differs from P/(V I) by more than 0.05, or P
 * above the greatest power.
 *
 * @source power-meters.md, section 8, pitfall 9
 */
export function plausibilityFlags(values: Quantities, limits: Limits): SampleFlag[] {
  const { watts, amps } = values;
  if (watts === null) return ['no-value'];
  const flags: SampleFlag[] = [];
  if (watts < 0 && limits.current === 'alternating') flags.push('negative');
  if (Math.abs(amps ?? 0) > (limits.maxAmps ?? Infinity)) flags.push('saturated');
  const range = apparent(values, limits);
  const tooHigh = limits.maxWatts !== null && Math.abs(watts) > limits.maxWatts;
  const breaks =
    range !== null &&
    (Math.abs(watts) > apparentShare * range[1] + limits.steps.watts ||
      !powerFactorFits(values, limits, range));
  if (tooHigh || breaks) flags.push('suspect');
  return flags;
}

/**
 * Why the first reading of a connection is not of the meter that was asked for: a wrong register map, or a unit that is off. Undefined when
 * nothing speaks against it.
 */
export function mismatch(values: Quantities, limits: Limits): string | undefined {
  const { watts, volts, amps } = values;
  const shown = `${show(watts)} W, ${show(volts)} V, ${show(amps)} A`;
  const [least, most] = limits.voltsBetween ?? [-Infinity, Infinity];
  if (volts !== null && (volts < least || volts > most))
    return `${shown}: expected ${least} to ${most} V; the profile, or its unit, is another meter's`;
  if (watts !== null && limits.maxWatts !== null && Math.abs(watts) > limits.maxWatts)
    return `${shown}: expected no more than ${limits.maxWatts} W; the profile, or its unit, is another meter's`;
  const range = apparent(values, limits);
  if (watts === null || volts === null || amps === null || range === null) return undefined;
  const p = Math.abs(watts);
  const share = p / Math.abs(volts * amps);
  const tooMuch = p > apparentShare * range[1] + limits.steps.watts;
  const agrees = (values.powerFactor ?? null) !== null && powerFactorFits(values, limits, range);
  const tooLittle = p > 0 && !agrees && p + limits.steps.watts < leastShare[limits.current] * range[0];
  if (!tooMuch && !tooLittle) return undefined;
  return `${shown}: P is ${show(share)} times V I${unitHint(share)}; the profile is another meter's, or a unit is off`;
}

/** The power of ten that would bring P to a common share of V I. */
function unitHint(share: number): string {
  const factor = [0.001, 0.01, 0.1, 10, 100, 1000].find((f) => share * f > 0.3 && share * f <= 1.05);
  return factor === undefined ? '' : ` (P times ${factor} would fit)`;
}

const show = (value: number | null): string => (value === null ? '-' : String(Number(value.toPrecision(4))));
