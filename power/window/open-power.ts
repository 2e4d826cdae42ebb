import { SpikedError } from '../../client/protocol/errors.js';
import type { Sample } from '../meters/meter.js';
import { CounterCheck } from './counter.js';
import type { PowerFigures, PowerSpec } from './figures.js';
import { Integral } from './integral.js';
import { gapPeriods, leastTrimNs } from './length.js';
import { PeriodStatistics } from './periods.js';
import { StuckRule } from './stuck.js';
import { summarize, tooShort } from './summary.js';
import { faultOf, type Fault } from './usable.js';

/** A window that takes samples one by one and keeps none of them. */
export interface OpenPower {
  /** The next sample of the trace, in the order of time; those far from the window are welcome. */
  push(sample: Sample): void;
  /** Call it once, after the last sample. */
  finish(): PowerFigures;
}

/** Everything that was seen, for `summarize`. */
export interface Seen {
  readonly spec: PowerSpec;
  /** s, before and after trimming. */
  readonly window: number;
  readonly length: number;
  readonly trim: number;
  readonly period: number;
  readonly integral: Integral;
  readonly periods: PeriodStatistics;
  readonly stuck: StuckRule;
  readonly counter: CounterCheck;
  /** Samples of the trimmed window by what they were. */
  usable: number;
  readonly faults: Record<Fault, number>;
  gaps: number;
  /** When the link ended, s from the trimmed window's start; null when it did not touch the window. */
  lostAt: number | null;
  /** Readings of the untrimmed window, and those of them that came with a wrong checksum. */
  readings: number;
  badChecksums: number;
  /** Sums over readings with volts and amps. */
  wattSum: number;
  voltAmpSum: number;
}

const seconds = (ns: bigint): number => Number(ns) / 1e9;

function badArgument(text: string): SpikedError {
  return new SpikedError('ERR_INVALID_ARGUMENT', `power window: ${text}`);
}

/** Thirty years, ns: what is longer is no time of a measurement, and would leave the range of exact arithmetic. */
const longestNs = 1e18;

/**
 * The measured update period, or the nominal one where there is none to trust, ns.
 *
 * @throws SpikedError ERR_INVALID_ARGUMENT neither is above zero
 */
export function updatePeriodNs(spec: PowerSpec): number {
  const found = [spec.updatePeriodNs, spec.traits.updatePeriodNs].find((ns) => ns > 0 && ns <= longestNs);
  if (found === undefined) throw badArgument(`update period: expected ns > 0, found ${spec.updatePeriodNs}`);
  return found;
}

/** What is cut off each end, ns. */
function trimNsOf(spec: PowerSpec, updateNs: number): bigint {
  return BigInt(Math.ceil(Math.max(spec.trimNs, leastTrimNs(updateNs, spec.latencyNs))));
}

function prepare(spec: PowerSpec): Seen {
  if (spec.toNs < spec.fromNs) throw badArgument('expected it to end after it begins, found the opposite');
  const { latencyNs, trimNs: planned, checksumErrors, traits } = spec;
  const numbers = { latencyNs, trimNs: planned, checksumErrors, resolutionWatts: traits.resolutionWatts };
  for (const [key, value] of Object.entries({ ...numbers, accuracy: traits.accuracy ?? 0 }))
    if (!(value >= 0 && value <= longestNs))
      throw badArgument(`${key}: expected a number >= 0, found ${value}`);
  const updateNs = updatePeriodNs(spec);
  const period = updateNs / 1e9;
  const trimNs = trimNsOf(spec, updateNs);
  const length = seconds(spec.toNs - spec.fromNs - 2n * trimNs);
  return {
    spec,
    window: seconds(spec.toNs - spec.fromNs),
    length,
    trim: seconds(trimNs),
    period,
    integral: new Integral(length, gapPeriods * period, spec.traits.rule),
    periods: new PeriodStatistics(period),
    stuck: new StuckRule(),
    counter: new CounterCheck(length),
    usable: 0,
    faults: { lost: 0, saturated: 0, negative: 0, checksum: 0, 'no-value': 0, suspect: 0 },
    gaps: 0,
    lostAt: null,
    readings: 0,
    badChecksums: 0,
    wattSum: 0,
    voltAmpSum: 0,
  };
}

/**
 * Power and energy of one window, from samples in one pass and constant memory.
 *
 * @param rate  tokens/s where known, for the sentence that says how long a window must be
 * @throws SpikedError ERR_INVALID_ARGUMENT a window that ends before it begins, a negative trim or latency, no update period at all
 * @throws SpikedError ERR_TRACE_INVALID (from `push`) a sample before the one before it
 * @source energy-method.md, sections 2 and 5
 */
export function openPower(spec: PowerSpec, rate: number | null = null): OpenPower {
  const seen = prepare(spec);
  const { length, trim, integral, counter, faults } = seen;
  const startNs = spec.fromNs + BigInt(Math.round(spec.latencyNs));
  let beforeNs: bigint | null = null;
  let before = -Infinity;
  let lost: number | null = null;

  const good = (sample: Sample, t: number, watts: number): void => {
    const gap = integral.add(t, watts);
    if (gap) seen.gaps += 1;
    // Lost and back within a moment is lost all the same; so is a gap in which the link ended, on whichever side of the edge.
    if (lost !== null && t > 0 && (gap || (lost > 0 && lost <= length))) seen.lostAt ??= lost;
    lost = null;
    counter.add(t, sample);
    if (t <= 0 || t > length) return;
    seen.usable += 1;
    seen.stuck.add(sample, seen.periods.add(t, watts));
    if (sample.volts === null || sample.amps === null) return;
    const voltAmps = sample.volts * sample.amps;
    if (!Number.isFinite(voltAmps)) return;
    seen.wattSum += watts;
    seen.voltAmpSum += voltAmps;
  };

  const bad = (fault: Fault, t: number): void => {
    if (fault === 'lost') lost ??= t;
    // What it would have told of is the time since the sample before it: that may be inside though it came after the end.
    if (t > 0 && (t <= length || (fault === 'saturated' && before < length))) faults[fault] += 1;
  };

  return {
    push(sample) {
      if (length <= 0) return;
      if (beforeNs !== null && sample.tNs < beforeNs)
        throw new SpikedError(
          'ERR_TRACE_INVALID',
          `power window: expected samples in the order of time, found ${sample.tNs} ns after ${beforeNs} ns`,
        );
      beforeNs = sample.tNs;
      const t = seconds(sample.tNs - startNs) - trim;
      const fault = faultOf(sample, spec.traits);
      if (t > -trim && t <= length + trim && fault !== 'lost') {
        seen.readings += 1;
        if (fault === 'checksum') seen.badChecksums += 1;
      }
      if (fault === null && sample.watts !== null) good(sample, t, sample.watts);
      else if (fault !== null) bad(fault, t);
      before = t;
    },
    finish() {
      if (length <= 0) return tooShort(seen, rate);
      const bare = integral.end();
      if (bare) seen.gaps += 1;
      if (lost !== null && (bare || (lost > 0 && lost <= length))) seen.lostAt ??= lost;
      return summarize(seen, rate);
    },
  };
}
