/** The rules that make a window's energy null, in the order in which they are told. Each has its row in docs/energy.md. */
import { plural } from '../plural.js';
import type { Reason } from './figures.js';
import { gapPeriods, minPeriods, neededSeconds, neededText } from './length.js';
import type { Seen } from './open-power.js';
import { stuckPeriods } from './stuck.js';

/** Share of the trimmed window that usable sample intervals must cover. */
export const minCoverage = 0.98;

/** Shares of frames with a wrong checksum: up to the first they are counted, above it told, above the second the window is void. */
export const checksumShares = { warn: 0.01, invalid: 0.1 } as const;

const percent = (share: number): string => `${(100 * share).toPrecision(3)} %`;

/** Frames with a wrong checksum over all frames of the untrimmed window. A flagged sample is one of those frames; an import has no frames. */
export function checksumShare(seen: Seen): number {
  const bad = Math.max(seen.spec.checksumErrors, seen.badChecksums);
  return bad === 0 ? 0 : bad / (bad + seen.readings - seen.badChecksums);
}

export const wiringHint =
  'negative power on alternating current: the current wires, or L and N of one side, are swapped';

/** `3 no-value, 1 checksum`: the unusable samples of the trimmed window by kind, empty without one. */
export function faultText(seen: Seen): string {
  return Object.entries(seen.faults)
    .filter(([, count]) => count > 0)
    .map(([fault, count]) => `${count} ${fault}`)
    .join(', ');
}

/** Update periods with a usable sample; never more than fit into the window. */
export function periodCount(seen: Seen, n: number): number {
  return Math.min(n, Math.floor(seen.length / seen.period + 1e-6) + 1);
}

/** Every rule that the window breaks. */
export function powerReasons(seen: Seen, n: number, rate: number | null): Reason[] {
  const { faults, integral, period } = seen;
  const unusable = faultText(seen);
  const among = unusable === '' ? '' : `; unusable samples: ${unusable}`;
  const reasons: Reason[] = [];
  const add = (reason: Reason['reason'], text: string): void => void reasons.push({ reason, text });

  if (seen.lostAt !== null)
    add('meter-lost', `the link to the meter ended ${seen.lostAt.toFixed(1)} s into the trimmed window`);
  if (faults.saturated > 0)
    add(
      'saturated',
      `${plural(faults.saturated, 'reading')} over the meter's range: set a higher range, or a larger meter`,
    );
  const holes = seen.gaps > 0 || integral.coverage < minCoverage - 1e-9;
  if (faults.negative > 0 && (holes || n < minPeriods))
    add('negative-power', `${plural(faults.negative, 'reading')} with ${wiringHint}`);
  const share = checksumShare(seen);
  if (share > checksumShares.invalid)
    add(
      'checksum-errors',
      `${percent(share)} of the frames have a wrong checksum, at most ${percent(checksumShares.invalid)} may`,
    );
  if (seen.gaps > 0)
    add(
      'gap',
      `${plural(seen.gaps, 'gap')}, the longest ${integral.largestGap.toFixed(2)} s, at most ${gapPeriods} update periods of ${period.toFixed(2)} s are bridged${among}`,
    );
  if (integral.coverage < minCoverage - 1e-9)
    add(
      'coverage',
      `usable samples cover ${percent(integral.coverage)} of the window, ${percent(minCoverage)} are needed${among}`,
    );
  if (n < minPeriods)
    add(
      'too-few-samples',
      `${plural(n, 'update period')} in ${seen.length.toFixed(1)} s, ${minPeriods} are needed: let the run last ${neededText(neededSeconds(seen.trim, period), rate)}${among}`,
    );
  if (seen.stuck.longest >= stuckPeriods)
    add(
      'stuck',
      `volts, amps and watts did not move for ${seen.stuck.longest} update periods, fewer than ${stuckPeriods} are allowed: the meter answers and does not measure`,
    );
  return reasons;
}

export function tooShortReason(seen: Seen, rate: number | null): Reason {
  const needed = neededText(neededSeconds(seen.trim, seen.period), rate);
  return {
    reason: 'window-too-short',
    text: `${seen.window.toFixed(1)} s ≤ 2 × ${seen.trim.toFixed(1)} s of trims: let the run last ${needed}`,
  };
}
