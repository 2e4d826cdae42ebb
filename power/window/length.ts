/** How much of a window is cut off, and how long it must be for something to be left. energy-method.md, 2.3 and 5. */

/** Fewest update periods and tokens inside the trimmed window. */
export const minPeriods = 10;
export const minTokens = 2;

/** Sample intervals up to so many update periods count; a longer one is a gap. */
export const gapPeriods = 2.5;

/**
 * The least that must be cut off each end, ns: two update periods and the latency. A sample is the mean of up to one period before it,
 * it comes `latencyNs` late, and neither is known better than to a period: only what lies further inside is free of the step at the edge.
 */
export function leastTrimNs(updatePeriodNs: number, latencyNs: number): number {
  return 2 * updatePeriodNs + latencyNs;
}

/** Seconds that a window must last: both trims and `minPeriods`, and one more for the phase of the meter. */
export function neededSeconds(trimS: number, periodS: number): number {
  return 2 * trimS + (minPeriods + 1) * periodS;
}

/** Seconds below which a window cannot have `minPeriods` inside its trims, whatever the meter's phase. */
export function possibleSeconds(trimS: number, periodS: number): number {
  return 2 * trimS + (minPeriods - 1) * periodS;
}

/** `at least 15.0 s, about 75 tokens at 5.00 tokens/s`; without a rate the seconds only. */
export function neededText(seconds: number, tokensPerSecond: number | null): string {
  const least = `at least ${seconds.toFixed(1)} s`;
  if (tokensPerSecond === null) return least;
  const tokens = Math.ceil(seconds * tokensPerSecond) + 1;
  return `${least}, about ${tokens} tokens at ${tokensPerSecond >= 100 ? tokensPerSecond.toFixed(0) : tokensPerSecond.toPrecision(3)} tokens/s`;
}
