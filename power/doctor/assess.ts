import type { MeterTraits, Sample } from '../meters/meter.js';
import { minimumDetectable } from '../statistics/detectable.js';
import { Tally, type TallyResult } from '../trace/tally.js';
import { leastTrimNs } from '../window/length.js';
import { effectiveCount, PeriodStatistics } from '../window/periods.js';
import { faultOf } from '../window/usable.js';

/** More blocks nobody runs. */
const mostBlocks = 200;

/** What a meter can do, by a minute of its samples at whatever load there was. */
export interface Assessment {
  readonly tally: TallyResult;
  readonly mean_watts: number | null;
  /** Deviation of the update periods' values, W. */
  readonly sd_watts: number | null;
  /** Below 0.5 the step does not average out (energy-method, 2.1). */
  readonly sd_over_step: number | null;
  /** Of neighbouring update periods. */
  readonly autocorrelation: number | null;
  /** What to cut off each end of a window, s. */
  readonly trim_s: number;
  /** Standard uncertainty that the step alone leaves in the difference of two runs, relative. */
  readonly floor: number | null;
  readonly blocks: readonly BlocksNeeded[];
}

export interface BlocksNeeded {
  readonly percent: number;
  /** Fewest blocks that show such a difference with 80 % power; null when no number of them does, or nothing was measured. */
  readonly blocks: number | null;
}

/**
 * Assesses a meter by its samples. The blocks are the fewest possible: what changes from run to run beside the meter's noise comes on top.
 *
 * @param runSeconds  length of one run's trimmed window
 * @source energy-method.md, 2.1, 2.2 and 2.5
 */
export function assess(
  samples: readonly Sample[],
  traits: MeterTraits,
  { runSeconds, latencyNs = 0 }: { readonly runSeconds: number; readonly latencyNs?: number },
): Assessment {
  const counts = new Tally(traits);
  for (const sample of samples) counts.add(sample);
  const tally = counts.result();
  const period = tally.period.periodNs / 1e9;
  const usable = samples.filter((sample) => faultOf(sample, traits) === null);
  const { mean, sd, rho } = statistics(usable, period);
  const step = traits.resolutionWatts;
  const floor = mean !== null && mean > 0 ? (Math.SQRT2 * step) / Math.sqrt(12) / mean : null;
  const sdOfRun =
    mean !== null && mean > 0 && sd !== null
      ? sd / Math.sqrt(effectiveCount(runSeconds / period, rho)) / mean
      : null;
  return {
    tally,
    mean_watts: mean,
    sd_watts: sd,
    sd_over_step: sd === null ? null : sd / step,
    autocorrelation: sd === null ? null : rho,
    trim_s: Math.max(2, leastTrimNs(tally.period.periodNs, latencyNs) / 1e9),
    floor,
    blocks: [1, 5].map((percent) => ({
      percent,
      blocks: sdOfRun === null || floor === null ? null : fewestBlocks(percent / 100, sdOfRun, floor),
    })),
  };
}

function statistics(
  usable: readonly Sample[],
  period: number,
): { mean: number | null; sd: number | null; rho: number } {
  const first = usable[0];
  if (first === undefined) return { mean: null, sd: null, rho: 0 };
  const periods = new PeriodStatistics(period);
  let sum = 0;
  for (const { tNs, watts } of usable) {
    periods.add(Number(tNs - first.tNs) / 1e9, watts ?? 0);
    sum += watts ?? 0;
  }
  const { sd, rho } = periods.end();
  return { mean: sum / usable.length, sd, rho };
}

function fewestBlocks(effect: number, sd: number, resolution: number): number | null {
  const shows = (blocks: number): boolean =>
    (minimumDetectable({ blocks, sd, resolution }) ?? Infinity) <= effect;
  if (!shows(mostBlocks)) return null;
  let [low, high] = [2, mostBlocks];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (shows(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
