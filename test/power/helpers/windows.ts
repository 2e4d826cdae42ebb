import type { MeterTraits, Sample } from '../../../power/meters/meter.js';
import type { RunInput, WindowFigures } from '../../../power/window/figures.js';
import { windowFigures } from '../../../power/window/run-figures.js';

/** Zero of every test's seconds on the monotonic clock, ns. */
export const epochNs = 5_000_000_000_000n;
export const at = (seconds: number): bigint => epochNs + BigInt(Math.round(seconds * 1e9));

export const traitsOf = (change: Partial<MeterTraits> = {}): MeterTraits => ({
  resolutionWatts: 0.1,
  accuracy: 0.005,
  updatePeriodNs: 1e9,
  rule: 'backward-rectangle',
  maxWatts: 2300,
  current: 'alternating',
  ...change,
});

export const reading = (t: number, watts: number | null, change: Partial<Sample> = {}): Sample => ({
  tNs: at(t),
  watts,
  volts: null,
  amps: null,
  joules: null,
  flags: [],
  ...change,
});

/** Times from `from` to `to`, s, `period` apart. */
export function every(period: number, from: number, to: number): number[] {
  return Array.from({ length: Math.floor((to - from) / period + 1e-9) + 1 }, (_, i) => from + i * period);
}

/**
 * What a meter that averages would show at those times, of a load whose energy from time 0 is `joules(t)`: the mean since the time
 * before. The first time only starts the first mean.
 */
export function averaged(joules: (t: number) => number, times: readonly number[]): Sample[] {
  return times.slice(1).map((t, i) => {
    const before = times[i] ?? 0;
    return reading(t, (joules(t) - joules(before)) / (t - before));
  });
}

/** Tokens at a steady rate, the first at `from`, the last at or before `to`, s. */
export const tokensAt = (rate: number, from: number, to: number): bigint[] =>
  every(1 / rate, from, to).map(at);

/** A run's input: window 0 to 60 s, trims of 2 s, 5 tok/s. */
export function runInput(samples: Iterable<Sample>, change: Partial<RunInput> = {}): RunInput {
  return {
    samples,
    traits: traitsOf(),
    updatePeriodNs: 1e9,
    latencyNs: 0,
    fromNs: at(0),
    toNs: at(60),
    trimNs: 2e9,
    checksumErrors: 0,
    tokenNs: tokensAt(5, 0, 60),
    idle: null,
    ...change,
  };
}

export const figuresOf = (samples: Iterable<Sample>, change: Partial<RunInput> = {}): WindowFigures =>
  windowFigures(runInput(samples, change));

export const reasonsOf = (figures: WindowFigures): string[] => figures.reasons.map(({ reason }) => reason);
