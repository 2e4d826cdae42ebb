import type { MeterTraits, Sample } from '../meters/meter.js';
import { faultOf } from '../window/usable.js';
import { Wave, type Edge } from './wave.js';

/** How late a meter tells what the machine did, found by shifting the known wave over its samples. */
export interface Alignment {
  /** Delay of a sample behind the machine's clock, the mean over the cycles, s; null when refused. */
  readonly latency_s: number | null;
  /** Spread of the cycles, and standard uncertainty of their mean, s. */
  readonly sd_s: number | null;
  readonly u_s: number | null;
  /** Power of work above that of rest, W. */
  readonly step_watts: number;
  readonly idle_watts: number;
  /** Deviation of the samples from work and from rest, edges left out, W. */
  readonly noise_watts: number;
  /** Of samples and shifted wave; 1 is a perfect fit. */
  readonly correlation: number;
  readonly cycles: number;
  readonly samples: number;
  /** Why there is no latency: one sentence; null when there is one. */
  readonly refused: string | null;
}

/** A sample and the interval that it stands for, s from the first edge. */
interface Reading {
  readonly from: number;
  readonly to: number;
  readonly watts: number;
}

interface Fit {
  readonly base: number;
  readonly step: number;
  readonly correlation: number;
  readonly sd: number;
}

/** Steps of the meter, and deviations of the samples, that the step must be high to be seen. */
const leastSteps = 2;
const leastDeviations = 3;

/**
 * The latency between meter and clock from a known square wave.
 *
 * @param samples  ascending, of the whole wave and a little after it
 * @param edges    of the wave, work first, one for each half and one at the end
 * @param periodNs update period as measured, ns
 */
export function align(
  samples: readonly Sample[],
  edges: readonly Edge[],
  traits: MeterTraits,
  periodNs: number,
): Alignment {
  const origin = edges[0]?.tNs ?? 0n;
  const at = (ns: bigint) => Number(ns - origin) / 1e9;
  const times = edges.map(({ tNs }) => at(tNs));
  const period = periodNs / 1e9;
  const readings = readingsOf(samples, traits, at, 2.5 * period);
  const cycles = (times.length - 1) >> 1;
  const wave = new Wave(times);
  const shortest = Math.min(...times.slice(1).map((t, i) => t - (times[i] ?? 0)));
  const last = times.at(-1) ?? 0;
  const within = readings.filter(({ from, to }) => from > -2 * period && to < last + shortest / 2);
  const [least, most] = [-period, shortest / 2];
  const step = Math.min(period, shortest) / 50;
  const latency = best(least, most, step, (shift) => fit(within, wave, shift)?.correlation ?? -1);
  const whole = plateaus(within, wave, latency, period);
  if (whole === null || within.length < 4 * cycles) return refusal(whole, cycles, within.length, `${within.length} usable samples in ${cycles} cycles: expected at least ${4 * cycles}; make the halves longer`); // prettier-ignore
  const needed = Math.max(leastSteps * traits.resolutionWatts, leastDeviations * whole.sd);
  if (!(whole.step >= needed)) return refusal(whole, cycles, within.length, `a step of ${whole.step.toPrecision(3)} W between work and rest: expected at least ${needed.toPrecision(3)} W, ${leastSteps} steps of the meter (${traits.resolutionWatts} W) and ${leastDeviations} times its noise (${whole.sd.toPrecision(3)} W); is this machine behind the meter, and is nothing else running?`); // prettier-ignore
  const each = cycleLatencies(within, wave, times, whole, [Math.max(least, latency - shortest / 4), Math.min(most, latency + shortest / 4), step]); // prettier-ignore
  const mean = each.reduce((sum, one) => sum + one, 0) / each.length;
  const sd = each.length < 2 ? null : Math.sqrt(each.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (each.length - 1)); // prettier-ignore
  return {
    ...refusal(whole, cycles, within.length, null),
    latency_s: mean,
    sd_s: sd,
    u_s: sd === null ? null : sd / Math.sqrt(each.length),
  };
}

function refusal(whole: Fit | null, cycles: number, samples: number, refused: string | null): Alignment {
  return {
    latency_s: null,
    sd_s: null,
    u_s: null,
    step_watts: whole?.step ?? 0,
    idle_watts: whole?.base ?? 0,
    noise_watts: whole?.sd ?? 0,
    correlation: whole?.correlation ?? 0,
    cycles,
    samples,
    refused,
  };
}

/** A backward rectangle stands for the time since the sample before it, an instant for itself: as windows are integrated. */
function readingsOf(
  samples: readonly Sample[],
  traits: MeterTraits,
  at: (ns: bigint) => number,
  longest: number,
): Reading[] {
  const readings: Reading[] = [];
  let before: number | null = null;
  for (const sample of samples) {
    const to = at(sample.tNs);
    const usable = faultOf(sample, traits) === null && sample.watts !== null;
    if (usable && before !== null && to - before <= longest)
      readings.push({ from: traits.rule === 'trapezoid' ? to : before, to, watts: sample.watts });
    before = usable ? to : null;
  }
  return readings;
}

/** watts = base + step share, by least squares, the wave shifted; null when the wave does not vary over the readings. */
function fit(readings: readonly Reading[], wave: Wave, shift: number): Fit | null {
  const n = readings.length;
  const shares = readings.map(({ from, to }) => wave.busyShare(from - shift, to - shift));
  const meanX = shares.reduce((sum, x) => sum + x, 0) / n;
  const meanY = readings.reduce((sum, { watts }) => sum + watts, 0) / n;
  let [xx, xy, yy] = [0, 0, 0];
  readings.forEach(({ watts }, i) => {
    const [x, y] = [(shares[i] ?? 0) - meanX, watts - meanY];
    xx += x * x;
    xy += x * y;
    yy += y * y;
  });
  if (!(xx > 0) || n < 3) return null;
  const step = xy / xx;
  const rest = Math.max(0, yy - step * xy);
  return {
    base: meanY - step * meanX,
    step,
    correlation: yy > 0 ? xy / Math.sqrt(xx * yy) : 0,
    sd: Math.sqrt(rest / (n - 2)),
  };
}

/** Height and noise where work or rest had lasted for a period and lasts for one more: edges that a meter smears are no noise. */
function plateaus(readings: readonly Reading[], wave: Wave, shift: number, period: number): Fit | null {
  const found = fit(readings, wave, shift);
  const level = (busy: number) =>
    readings.filter(({ from, to }) => wave.busyShare(from - shift - period, to - shift + period) === busy).map(({ watts }) => watts); // prettier-ignore
  const [rest, work] = [level(0), level(1)];
  if (found === null || rest.length < 2 || work.length < 2) return found;
  const mean = (watts: readonly number[]) => watts.reduce((sum, one) => sum + one, 0) / watts.length;
  const [base, top] = [mean(rest), mean(work)];
  const squares = [...rest.map((one) => one - base), ...work.map((one) => one - top)];
  const sd = Math.sqrt(squares.reduce((sum, one) => sum + one * one, 0) / (squares.length - 2));
  return { base, step: top - base, correlation: found.correlation, sd };
}

/** The shift of each cycle by itself, with height and base of the whole. */
function cycleLatencies(
  readings: readonly Reading[],
  wave: Wave,
  times: readonly number[],
  { base, step: height }: Fit,
  [least, most, step]: readonly [number, number, number],
): number[] {
  const found: number[] = [];
  for (let i = 0; i + 2 < times.length; i += 2) {
    const [start = 0, middle = 0, end = 0] = times.slice(i, i + 3);
    // Half a rest before to half a rest after, so that both edges of the work are inside.
    const [from, to] = [start - (end - middle) / 2, middle + (end - middle) / 2];
    const own = readings.filter((one) => one.to > from + Math.max(0, most) && one.to <= to + Math.max(0, most)); // prettier-ignore
    if (own.length < 4) continue;
    const squares = (shift: number) =>
      own.reduce((sum, { from: a, to: b, watts }) => sum + (watts - base - height * wave.busyShare(a - shift, b - shift)) ** 2, 0); // prettier-ignore
    found.push(best(least, most, step, (shift) => -squares(shift)));
  }
  return found;
}

/** Where a function of the shift is greatest; the middle, where it is so over a stretch. */
function best(least: number, most: number, step: number, value: (shift: number) => number): number {
  let [greatest, from, to] = [-Infinity, least, least];
  for (let i = 0; least + i * step <= most; i++) {
    const shift = least + i * step;
    const found = value(shift);
    if (found > greatest + 1e-12) [greatest, from, to] = [found, shift, shift];
    else if (Math.abs(found - greatest) <= 1e-12 && shift - to < 1.5 * step) to = shift;
  }
  return (from + to) / 2;
}
