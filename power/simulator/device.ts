import { gaussian, seededRandom, type Random } from './random.js';
import type { PowerSource } from './source.js';

/** How a kind of meter measures: its defaults, any of which a simulation may change. */
export interface Measuring {
  /** Time between two new values. */
  readonly periodMs: number;
  /** From the end of a period to its value's being seen. */
  readonly latencyMs: number;
  /** Smallest steps of what it shows. */
  readonly wattsStep: number;
  readonly voltsStep: number;
  readonly ampsStep: number;
  /** Most that it can show, W. */
  readonly maxWatts: number;
  /** Share of the reading by which this one device may be off, drawn once by the seed. */
  readonly accuracy: number;
  /** Deviation of white noise on each value, W. */
  readonly noiseWatts: number;
  readonly volts: number;
  /** Deviation of the voltage, V. */
  readonly noiseVolts: number;
  readonly powerFactor: number;
}

/** What the device shows, rounded to its steps. NaN is "no value". */
export interface Reading {
  readonly watts: number;
  readonly volts: number;
  readonly amps: number;
  readonly powerFactor: number;
  readonly hertz: number;
  /** Of its energy counter since it was switched on, exact. */
  readonly joules: number;
  /** Over its range: the watts are its greatest. */
  readonly saturated: boolean;
}

export type ReadingFault = 'frozen' | 'saturated' | 'no-value' | 'negative' | 'counter-reset';

/** Which faults change a new value, at its number (from 1) and time. */
export type ReadingFaults = (update: number, seconds: number) => ReadonlySet<ReadingFault>;

/**
 * A device that measures a power source: every period the mean power of that period becomes its reading, a latency later. Exact for a
 * source in closed form, however late a timer comes.
 */
export class Device {
  /** Null until the first period is over. */
  private shown: Reading | null = null;
  private readonly coming: { atMs: number; reading: Reading }[] = [];
  private updates = 0;
  private periodEndMs: number;
  private joules = 0;
  /** When its counter was at 0. */
  private counterJoules = 0;
  private timer: NodeJS.Timeout | undefined;
  private readonly gain: number;
  private readonly listeners = new Set<(reading: Reading) => void>();
  private readonly random: Random;

  /**
   * @param startMs  `performance.now()` at the source's second 0
   */
  constructor(
    private readonly measuring: Measuring,
    private readonly source: PowerSource,
    seed: number,
    private readonly faults: ReadingFaults,
    private readonly startMs: number,
  ) {
    this.random = seededRandom(seed);
    this.gain = 1 + measuring.accuracy * (2 * this.random() - 1);
    this.periodEndMs = measuring.periodMs;
    this.schedule();
  }

  /** What it shows now. */
  read(): Reading | null {
    this.settle();
    return this.shown;
  }

  /** Calls `listener` with each new reading when it is seen; returns what ends that. */
  onUpdate(listener: (reading: Reading) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.listeners.clear();
  }

  private settle(): void {
    const nowMs = performance.now() - this.startMs;
    for (; this.periodEndMs <= nowMs; this.periodEndMs += this.measuring.periodMs)
      this.coming.push({ atMs: this.periodEndMs + this.measuring.latencyMs, reading: this.measure() });
    while ((this.coming[0]?.atMs ?? Infinity) <= nowMs) {
      const next = this.coming.shift();
      if (next === undefined) break;
      this.shown = next.reading;
      for (const listener of this.listeners) listener(next.reading);
    }
  }

  private schedule(): void {
    const next = Math.min(this.periodEndMs, this.coming[0]?.atMs ?? Infinity);
    this.timer = setTimeout(
      () => {
        this.settle();
        this.schedule();
      },
      Math.max(0, next - (performance.now() - this.startMs)),
    );
  }

  /** The reading of the period that ends at `periodEndMs`. */
  private measure(): Reading {
    const { measuring, random } = this;
    const seconds = this.periodEndMs / 1000;
    this.updates += 1;
    const active = this.faults(this.updates, seconds);
    const joules = this.source.joulesUntil(seconds);
    const mean = ((joules - this.joules) / measuring.periodMs) * 1000;
    this.joules = joules;
    if (active.has('counter-reset')) this.counterJoules = joules;
    const last = this.coming.at(-1)?.reading ?? this.shown;
    const noise = measuring.noiseWatts * gaussian(random);
    const volts = round(measuring.volts + measuring.noiseVolts * gaussian(random), measuring.voltsStep);
    if (active.has('frozen') && last !== null) return last;
    const watts = Math.max(0, mean * this.gain + noise);
    const saturated = active.has('saturated') || watts > measuring.maxWatts;
    const shown = saturated ? measuring.maxWatts : round(watts, measuring.wattsStep);
    return {
      watts: active.has('no-value') ? NaN : active.has('negative') ? -shown : shown,
      volts,
      amps: round(shown / volts / measuring.powerFactor, measuring.ampsStep),
      powerFactor: measuring.powerFactor,
      hertz: 50,
      joules: (joules - this.counterJoules) * this.gain,
      saturated,
    };
  }
}

function round(value: number, step: number): number {
  return Math.round(value / step) * step;
}
