import type { MeterTraits } from '../meters/meter.js';
import { minimumDetectable } from '../statistics/detectable.js';
import { neededSeconds, leastTrimNs } from '../window/length.js';
import { orderOf, type Block } from './order.js';
import type { Plan } from './plan.js';

/** How fast one arm is. */
export interface Pace {
  readonly tokensPerSecond: number;
  /** From the request to the first token. */
  readonly prefillSeconds: number;
}

/** What lies before an experiment. */
export interface Preview {
  readonly blocks: readonly Block[];
  readonly tokens: number;
  readonly pace: Readonly<Record<string, Pace>>;
  /** Estimated, of one run of each arm. */
  readonly runSeconds: Readonly<Record<string, number>>;
  /** Estimated: warm-up as short as it may be, and as long. */
  readonly seconds: { readonly least: number; readonly most: number };
  /** Cut off each end: the plan's, or what the meter needs. */
  readonly trimSeconds: number;
  readonly neededSeconds: number;
  /** Why the runs would be void; null when they are long enough. */
  readonly tooShort: string | null;
  readonly detectable: Detectable;
}

/** Smallest relative difference that the blocks of one candidate can show (80 % power, alpha 0.05). */
export interface Detectable {
  /** Power that the meter's step is compared with, W: measured by the pilot, or assumed. */
  readonly watts: number;
  readonly measured: boolean;
  readonly stepWatts: number;
  /** For spreads of ln(J/token) from block to block, relative; null below two blocks. */
  readonly at: readonly { readonly sd: number; readonly difference: number | null }[];
}

/** A small board under load. */
const assumedWatts = 10;
const spreads = [0.002, 0.005, 0.01, 0.02];

/** Tokens of every run: the plan's, or so many that the fastest arm lasts `min_seconds`, and a tenth more for what the pilot did not know. */
export function tokensOf(plan: Plan, pace: Readonly<Record<string, Pace>>): number {
  if (plan.tokens !== undefined) return plan.tokens;
  const fastest = Math.max(...Object.values(pace).map(({ tokensPerSecond }) => tokensPerSecond));
  return Math.max(2, Math.ceil(fastest * (plan.min_seconds ?? 0) * 1.1) + 1);
}

/**
 * @param watts   under load, where the pilot has seen any
 * @param tokens  of every run, where a pilot has fixed them already
 */
export function previewOf(
  plan: Plan,
  traits: MeterTraits,
  pace: Readonly<Record<string, Pace>>,
  watts: number | null = null,
  tokens = tokensOf(plan, pace),
): Preview {
  const blocks = orderOf(plan);
  const decode = (arm: string) => (tokens - 1) / (pace[arm]?.tokensPerSecond ?? 1);
  const runSeconds = Object.fromEntries(
    plan.arms.map(({ name }) => [name, (pace[name]?.prefillSeconds ?? 0) + decode(name)]),
  );
  const measured = (arm: string) => (plan.window === 'decode' ? decode(arm) : (runSeconds[arm] ?? 0));
  const trim = Math.max(plan.trim_s, leastTrimNs(traits.updatePeriodNs, plan.meter.latency_s * 1e9) / 1e9);
  const needed = neededSeconds(trim, traits.updatePeriodNs / 1e9);
  const shortest = plan.arms
    .map(({ name }) => name)
    .reduce((least, arm) => (measured(arm) < measured(least) ? arm : least), plan.arms[0]?.name ?? '');
  const idles = 1 + Math.ceil(blocks.length / plan.idle_every_blocks);
  const fixed = blocksSeconds(plan, runSeconds, blocks) + idles * (plan.idle_s + plan.cool_down_s);
  return {
    blocks,
    tokens,
    pace,
    runSeconds,
    seconds: { least: fixed + plan.warm_up.min_s, most: fixed + plan.warm_up.max_s },
    trimSeconds: trim,
    neededSeconds: needed,
    tooShort:
      measured(shortest) >= needed
        ? null
        : tooShort(tokens, shortest, measured(shortest), needed, pace[shortest]?.tokensPerSecond ?? 0),
    detectable: detectableBy(plan, plan.meter.resolution_watts ?? traits.resolutionWatts, watts),
  };
}

function detectableBy({ blocks }: Plan, stepWatts: number, measured: number | null): Detectable {
  const watts = measured ?? assumedWatts;
  const resolution = (Math.SQRT2 * stepWatts) / Math.sqrt(12) / watts;
  return {
    watts,
    measured: measured !== null,
    stepWatts,
    at: spreads.map((sd) => ({ sd, difference: minimumDetectable({ blocks, sd, resolution }) })),
  };
}

/** Estimated, of whole blocks. */
export function blocksSeconds(
  plan: Plan,
  runSeconds: Readonly<Record<string, number>>,
  blocks: readonly Block[],
): number {
  const slots = blocks.flatMap((block) => block.slots);
  return slots.reduce((sum, arm) => sum + (runSeconds[arm] ?? 0) + plan.cool_down_s, 0);
}

function tooShort(tokens: number, arm: string, seconds: number, needed: number, rate: number): string {
  // A tenth more, as for min_seconds: the pilot's speed is not that of every run.
  const enough = Math.ceil(needed * 1.1 * rate) + 1;
  return (
    `window-too-short: ${tokens} tokens of arm "${arm}" last ${seconds.toPrecision(3)} s at ${rate >= 100 ? rate.toFixed(0) : rate.toPrecision(3)} tokens/s, ` +
    `trims and meter need ${needed.toFixed(1)} s: set "tokens" to ${enough} or more, or "min_seconds" to ${Math.ceil(needed)} in its place`
  );
}
