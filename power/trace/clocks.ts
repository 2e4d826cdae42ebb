import { readFileSync } from 'node:fs';
import { SpikedError } from '../../client/protocol/errors.js';
import type { Clocks } from './header.js';

/** /proc/uptime has two decimals: the difference of two readings is known to 20 ms, and something may come between the reads. */
const suspendNs = 100_000_000n;
/** A step of the wall clock is told from there on; slewing moves all three clocks alike. */
const stepNs = 1_000_000_000n;

/**
 * The three clocks, read together: CLOCK_MONOTONIC to the nanosecond, CLOCK_BOOTTIME to 10 ms (/proc/uptime), the wall clock to 1 ms.
 *
 * @throws SpikedError ERR_FILE_IO when /proc/uptime is not there or not as Linux writes it
 */
export function readClocks(): Clocks {
  let best = readOnce();
  // Whoever was put aside between the reads has clocks that do not belong together.
  for (let i = 0; i < 5 && best.takenNs > 1_000_000n; i++) {
    const next = readOnce();
    if (next.takenNs < best.takenNs) best = next;
  }
  return best.clocks;
}

function readOnce(): { clocks: Clocks; takenNs: bigint } {
  const before = process.hrtime.bigint();
  const text = readFileSync('/proc/uptime', 'latin1');
  const wall = new Date().toISOString();
  const takenNs = process.hrtime.bigint() - before;
  const match = /^(\d+)\.(\d\d) /.exec(text);
  if (match?.[1] === undefined || match[2] === undefined)
    throw new SpikedError(
      'ERR_FILE_IO',
      `/proc/uptime: expected seconds with two decimals, found "${text.slice(0, 40).trim()}"`,
    );
  const boottimeNs = BigInt(match[1] + match[2]) * 10_000_000n;
  return { clocks: { monotonicNs: before + takenNs / 2n, boottimeNs, wall }, takenNs };
}

/** What happened to the clocks between two readings on one machine. */
export interface ClockChange {
  /** Of CLOCK_MONOTONIC. */
  readonly elapsedNs: bigint;
  /** Time in suspend; 0 unless `suspended`. */
  readonly suspendedNs: bigint;
  readonly suspended: boolean;
  /** Step of the wall clock, forward positive; 0 unless it is worth a note. Nothing is computed from it. */
  readonly wallStepNs: bigint;
  /** Sentences for people. */
  readonly notes: readonly string[];
}

/**
 * The changes between two readings. In suspend CLOCK_BOOTTIME runs on and CLOCK_MONOTONIC does not, so power and tokens of that time
 * are missing without a gap to be seen: whoever finds `suspended` calls the run invalid. A step of the wall clock changes nothing.
 */
export function compareClocks(from: Clocks, to: Clocks): ClockChange {
  const elapsedNs = to.monotonicNs - from.monotonicNs;
  const bootNs = to.boottimeNs - from.boottimeNs;
  const lag = bootNs - elapsedNs;
  const suspended = lag > suspendNs;
  const wallNs = BigInt(Date.parse(to.wall) - Date.parse(from.wall)) * 1_000_000n;
  const step = wallNs - (suspended ? bootNs : elapsedNs);
  const stepped = step > stepNs || step < -stepNs;
  const notes: string[] = [];
  if (suspended)
    notes.push(`The machine was suspended for ${seconds(lag)} s: what was measured then is not there.`);
  if (stepped)
    notes.push(
      `The wall clock was set ${step > 0n ? 'forward' : 'back'} by ${seconds(step > 0n ? step : -step)} s; no figure depends on it.`,
    );
  return {
    elapsedNs,
    suspendedNs: suspended ? lag : 0n,
    suspended,
    wallStepNs: stepped ? step : 0n,
    notes,
  };
}

const seconds = (ns: bigint): string => (Number(ns) / 1e9).toFixed(1);
