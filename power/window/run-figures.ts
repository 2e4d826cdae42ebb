import { SpikedError } from '../../client/protocol/errors.js';
import type { Sample } from '../meters/meter.js';
import type {
  IdlePower,
  PowerFigures,
  Reason,
  RunInput,
  Value,
  WindowFigures,
  WindowSpec,
} from './figures.js';
import { minTokens, neededSeconds, neededText } from './length.js';
import { openPower, updatePeriodNs } from './open-power.js';
import { scaled, tokenEdgeCount, withUncertainty } from './uncertainty.js';

/** A run's window that takes samples one by one and keeps none of them. */
export interface OpenWindow {
  /** The next sample of the trace, in the order of time; those far from the window are welcome. */
  push(sample: Sample): void;
  /** Call it once, after the last sample. */
  finish(): WindowFigures;
}

/** Tokens/s from the first to the last token; null below two or when they have one time. */
function rateOf(tokenNs: readonly bigint[]): number | null {
  const [first, last] = [tokenNs[0], tokenNs.at(-1)];
  if (first === undefined || last === undefined || last <= first) return null;
  return ((tokenNs.length - 1) * 1e9) / Number(last - first);
}

function checkOrder(tokenNs: readonly bigint[]): void {
  tokenNs.forEach((t, i) => {
    const before = tokenNs[i - 1];
    if (before !== undefined && t < before)
      throw new SpikedError(
        'ERR_TRACE_INVALID',
        `tokens: expected ascending times, found ${t} ns after ${before} ns (token ${i})`,
      );
  });
}

/** Energy above idle. The accuracy is a common factor of run and idle; the idle's step and spread come on top. Never clamped. */
function netOf(mean: Value, idle: IdlePower, accuracy: number | null): Value {
  const watts = mean.value - idle.watts;
  return withUncertainty(watts, {
    accuracy: accuracy === null ? null : (accuracy * Math.abs(watts)) / Math.sqrt(3),
    resolution: Math.hypot(mean.u.resolution, idle.uResolutionWatts),
    repeatability: Math.hypot(mean.u.repeatability, idle.uRepeatabilityWatts),
    tokenEdges: 0,
  });
}

function tokenReasons(inside: number, total: number, power: PowerFigures, needed: string): Reason[] {
  // A window without any length says so already; that no token is in it adds nothing.
  if (power.trimmed_s === null && total >= minTokens) return [];
  if (inside === 0)
    return [{ reason: 'no-tokens', text: `none of ${total} tokens completed inside the trimmed window` }];
  if (inside < minTokens)
    return [
      {
        reason: 'too-few-tokens',
        text: `${inside} of ${total} tokens completed inside the trimmed window, ${minTokens} are needed: let the run last ${needed}`,
      },
    ];
  return [];
}

function perToken(joules: Value | null, tokens: number, edges: number): Value | null {
  if (joules === null || tokens === 0) return null;
  return scaled(joules, 1 / tokens, (Math.abs(joules.value) * edges) / (tokens * tokens));
}

/**
 * Figures of one window of one run.
 *
 * @throws SpikedError ERR_INVALID_ARGUMENT, ERR_TRACE_INVALID (from `push` too): as `openPower`; tokens out of order
 * @source energy-method.md, sections 2 and 5; docs/energy.md
 */
export function openWindow(spec: WindowSpec): OpenWindow {
  checkOrder(spec.tokenNs);
  const rate = rateOf(spec.tokenNs);
  const power = openPower(spec, rate);
  return {
    push: (sample) => power.push(sample),
    finish: () => runFigures(spec, power.finish(), rate),
  };
}

function runFigures(spec: WindowSpec, power: PowerFigures, rate: number | null): WindowFigures {
  const { tokenNs, idle, traits } = spec;
  const trimNs = BigInt(Math.round(power.trim_s * 1e9));
  const [fromNs, toNs] = [spec.fromNs + trimNs, spec.toNs - trimNs];
  const inside = tokenNs.filter((t) => fromNs < t && t <= toNs).length;
  const needed = neededText(neededSeconds(power.trim_s, updatePeriodNs(spec) / 1e9), rate);
  const reasons = [...power.reasons, ...tokenReasons(inside, tokenNs.length, power, needed)];
  const valid = reasons.length === 0;
  const length = power.trimmed_s ?? 0;
  const mean = valid ? power.mean_watts : null;
  const joules = valid ? power.joules : null;
  const net = mean === null || idle === null ? null : scaled(netOf(mean, idle, traits.accuracy), length);
  const warnings = [...power.warnings];
  if (idle?.drifted === true)
    warnings.push(
      'idle power before and after differ by more than twice their uncertainty: net figures carry the difference',
    );
  return {
    ...power,
    valid,
    reasons,
    warnings,
    joules,
    mean_watts: mean,
    net_joules: net,
    tokens: tokenNs.length,
    tokens_in_window: inside,
    tokens_per_second: inside < minTokens || length <= 0 ? null : inside / length,
    paper_trimmed_j_per_token: perToken(joules, tokenNs.length, 0),
    j_per_token: perToken(joules, inside, tokenEdgeCount),
    net_j_per_token: perToken(net, inside, tokenEdgeCount),
  };
}

/** Figures of one window of one run from all its samples: `openWindow`, `push` each, `finish`. */
export function windowFigures(input: RunInput): WindowFigures {
  const window = openWindow(input);
  for (const sample of input.samples) window.push(sample);
  return window.finish();
}

/**
 * The same figures for a run that something else than its trace makes void (aborted, suspended, throttled, unequal tokens, …): the
 * reasons are added and everything that they void is null. Without reasons it returns what it was given.
 */
export function voidedBy(figures: WindowFigures, reasons: readonly Reason[]): WindowFigures {
  if (reasons.length === 0) return figures;
  return {
    ...figures,
    valid: false,
    reasons: [...figures.reasons, ...reasons],
    joules: null,
    mean_watts: null,
    net_joules: null,
    paper_trimmed_j_per_token: null,
    j_per_token: null,
    net_j_per_token: null,
  };
}
