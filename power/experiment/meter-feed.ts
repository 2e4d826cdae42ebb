import type { Frame, MeterSink, Sample } from '../meters/meter.js';

/** Samples older than this are forgotten: a warm-up looks back no further. */
const keptNs = 1_200_000_000_000n;
const unusable = new Set(['saturated', 'no-value', 'negative', 'checksum', 'suspect', 'lost']);

/** A usable reading. */
export interface Reading {
  readonly tNs: bigint;
  readonly watts: number;
}

/** Null without any. */
export function meanWatts(readings: readonly Reading[]): number | null {
  return readings.length === 0 ? null : readings.reduce((sum, { watts }) => sum + watts, 0) / readings.length;
}

/**
 * Stands between the meter and the trace: everything goes on at once, and the last twenty minutes can be asked about. Until `pass` names the
 * trace it keeps what comes.
 */
export class MeterFeed implements MeterSink {
  private target: MeterSink | undefined;
  private early: (() => void)[] = [];
  private readings: Reading[] = [];
  private losses: bigint[] = [];
  private lostNow = false;
  private lastNs = -1n;
  private waiting: (() => void)[] = [];

  /** Sends what came so far, and from now on everything, to the trace. */
  pass(target: MeterSink): void {
    this.target = target;
    for (const send of this.early.splice(0)) send();
  }

  sample(sample: Sample): void {
    if (this.target === undefined) this.early.push(() => this.target?.sample(sample));
    else this.target.sample(sample);
    this.lastNs = sample.tNs;
    this.lostNow = sample.flags.includes('lost');
    if (this.lostNow) this.losses.push(sample.tNs);
    else if (sample.watts !== null && !sample.flags.some((flag) => unusable.has(flag)))
      this.readings.push({ tNs: sample.tNs, watts: sample.watts });
    this.forget(sample.tNs - keptNs);
    for (const wake of this.waiting.splice(0)) wake();
  }

  frame(frame: Frame): void {
    if (this.target === undefined) this.early.push(() => this.target?.frame?.(frame));
    else this.target.frame?.(frame);
  }

  /** The link is down at the moment. */
  get lost(): boolean {
    return this.lostNow;
  }

  get watts(): number | null {
    return this.lostNow ? null : (this.readings.at(-1)?.watts ?? null);
  }

  /** Usable readings with from < t <= to, ascending. */
  between(fromNs: bigint, toNs: bigint): Reading[] {
    return this.readings.filter(({ tNs }) => fromNs < tNs && tNs <= toNs);
  }

  /** When the link was first lost in from < t <= to; null when it held. */
  lostBetween(fromNs: bigint, toNs: bigint): bigint | null {
    return this.losses.find((tNs) => fromNs < tNs && tNs <= toNs) ?? null;
  }

  /** Resolves with the next sample that is later than `ns`, usable or not; false when none came in time. */
  async after(ns: bigint, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return this.until(() => this.lastNs > ns, timeoutMs, signal);
  }

  /** Resolves when the link is up; false when it did not come back in time. */
  async back(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return this.until(() => !this.lostNow, timeoutMs, signal);
  }

  private async until(holds: () => boolean, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    let over = false;
    const wake = () => {
      for (const resolve of this.waiting.splice(0)) resolve();
    };
    const end = () => {
      over = true;
      wake();
    };
    const timer = setTimeout(end, timeoutMs);
    signal.addEventListener('abort', end, { once: true });
    const given = () => over || signal.aborted;
    while (!holds() && !given()) await new Promise<void>((resolve) => this.waiting.push(resolve));
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    signal.throwIfAborted();
    return holds();
  }

  private forget(beforeNs: bigint): void {
    // In large steps: shifting at every sample would move the whole array each time.
    const old = this.readings.findIndex(({ tNs }) => tNs >= beforeNs);
    if (old > 1024) this.readings = this.readings.slice(old);
    if (this.losses.length > 1024) this.losses = this.losses.slice(-512);
  }
}
