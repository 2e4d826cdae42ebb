import type { PowerFigures, Value } from './figures.js';
import type { Seen } from './open-power.js';
import { effectiveCount } from './periods.js';
import { rectangular, scaled, withUncertainty } from './uncertainty.js';
import { periodCount, powerReasons, tooShortReason } from './validity.js';
import { inputWarnings } from './warnings.js';

/**
 * Deviation of the *shown* readings, in steps, below which the step does not average out: what lies under them then varies by less than
 * half a step (s^2 = sigma^2 + q^2 / 12, Sheppard). A quiet reading on the edge of a step flips between two values and looks like half a
 * step of noise; it stays below.
 *
 * @source energy-method.md, 2.1
 */
const dither = Math.sqrt(0.5 ** 2 + 1 / 12);

const positive = (x: number | null): x is number => x !== null && x > 0 && Number.isFinite(x);

/** The mean power of the window with its uncertainty; energy-method.md, 2.2. */
function meanWatts(seen: Seen, n: number, sd: number, rho: number): Value {
  const { integral, spec, length } = seen;
  const watts = integral.joules / (integral.coverage * length);
  const independent = Math.min(n, effectiveCount(n, rho));
  // What no sample covers (up to 2 %) is taken at the mean power, and may have been anything from nothing to twice that.
  const bare = rectangular((1 - integral.coverage) * Math.abs(watts));
  return withUncertainty(watts, {
    accuracy: spec.traits.accuracy === null ? null : rectangular(spec.traits.accuracy * Math.abs(watts)),
    resolution: rectangular(spec.traits.resolutionWatts / 2),
    repeatability: Math.hypot(sd / Math.sqrt(independent), bare),
    tokenEdges: 0,
  });
}

const bareFigures = {
  joules: null,
  mean_watts: null,
  meter_joules: null,
  sd_watts: null,
  sd_over_step: null,
  resolution_limited: false,
};

/** The figures of a window that its trims leave nothing of. */
export function tooShort(seen: Seen, rate: number | null): PowerFigures {
  return {
    valid: false,
    reasons: [tooShortReason(seen, rate)],
    warnings: [],
    rule: seen.spec.traits.rule,
    window_s: seen.window,
    trim_s: seen.trim,
    trimmed_s: null,
    samples: 0,
    unusable_samples: 0,
    update_periods: 0,
    coverage: null,
    largest_gap_s: null,
    ...bareFigures,
  };
}

/** The figures of a window after its last sample. */
export function summarize(seen: Seen, rate: number | null): PowerFigures {
  const { integral, counter, length, spec } = seen;
  const { n: found, sd, rho } = seen.periods.end();
  const n = periodCount(seen, found);
  const reasons = powerReasons(seen, n, rate);
  const valid = reasons.length === 0;
  const mean = valid ? meanWatts(seen, n, sd ?? 0, rho) : null;
  const step = spec.traits.resolutionWatts;
  const overStep = sd !== null && positive(step) ? sd / step : null;
  const limited = overStep !== null && overStep < dither;
  const warnings = inputWarnings(seen);
  if (integral.coverage < 1 - 1e-6 && valid)
    warnings.push(
      `usable samples cover ${(100 * integral.coverage).toFixed(2)} % of the window; the rest is taken at the mean power`,
    );
  if (mean !== null) {
    const contradiction = counter.contradiction(mean.value * length, mean.value * seen.period);
    if (contradiction !== null) warnings.push(contradiction);
    if (spec.traits.accuracy === null)
      warnings.push("the meter's accuracy class is unknown: absolute figures carry no part for it");
    if (limited && mean.value > 0)
      warnings.push(
        `readings vary by ${(sd ?? 0).toPrecision(2)} W, too little for the meter's step of ${step} W to average out: the mean may be off by half a step, ±${((50 * step) / mean.value).toPrecision(2)} %, however long the run`,
      );
  }
  return {
    valid,
    reasons,
    warnings,
    rule: spec.traits.rule,
    window_s: seen.window,
    trim_s: seen.trim,
    trimmed_s: length,
    samples: seen.usable,
    unusable_samples: Object.values(seen.faults).reduce((sum, count) => sum + count, 0),
    update_periods: n,
    coverage: integral.coverage,
    largest_gap_s: integral.largestGap,
    joules: mean === null ? null : scaled(mean, length),
    mean_watts: mean,
    meter_joules: counter.joules,
    sd_watts: sd,
    sd_over_step: overStep,
    resolution_limited: limited,
  };
}
