import type { Frame, MeterCounts, MeterSink, Sample } from './meter.js';

/** Update periods without a sample until the meter counts as lost (energy-method.md, section 5). */
const lostPeriods = 2.5;

/**
 * What a meter pushes, in order: adds `back` after a loss and `counter-reset` where the energy counter fell, says `lost` once a loss, and
 * counts. Times in a trace ascend: of two samples that came in one read the second is a nanosecond later.
 */
export class SampleStream {
  readonly #counts = {
    requests: 0,
    frames: 0,
    samples: 0,
    checksumErrors: 0,
    torn: 0,
    late: 0,
    timeouts: 0,
    reconnects: 0,
  };
  #sink: MeterSink | undefined;
  #isLost = false;
  #pushedNs = -1n;
  #lastNs = process.hrtime.bigint();
  #lastJoules: number | null = null;

  constructor(private readonly updatePeriodNs: number) {}

  get counts(): MeterCounts {
    return { ...this.#counts };
  }

  /** Where everything goes from now on; false when there is a sink already. */
  begin(sink: MeterSink): boolean {
    if (this.#sink !== undefined) return false;
    this.#sink = sink;
    return true;
  }

  add(what: 'requests' | 'timeouts' | 'reconnects'): void {
    this.#counts[what] += 1;
  }

  frame(frame: Frame): void {
    if (frame.direction === 'received') {
      if (frame.fault === undefined || frame.fault === 'unchecked') this.#counts.frames += 1;
      if (frame.fault === 'checksum') this.#counts.checksumErrors += 1;
      if (frame.fault === 'torn') this.#counts.torn += 1;
      if (frame.fault === 'late') this.#counts.late += 1;
    }
    this.#sink?.frame?.(frame);
  }

  sample(sample: Sample): void {
    const tNs = sample.tNs > this.#pushedNs ? sample.tNs : this.#pushedNs + 1n;
    const flags = new Set(sample.flags);
    if (this.#isLost) flags.add('back');
    if (sample.joules !== null && this.#lastJoules !== null && sample.joules < this.#lastJoules)
      flags.add('counter-reset');
    this.#isLost = false;
    this.#lastJoules = sample.joules ?? this.#lastJoules;
    this.#counts.samples += 1;
    this.alive();
    this.#push({ ...sample, tNs, flags: [...flags] });
  }

  lost(tNs = process.hrtime.bigint()): void {
    if (this.#isLost) return;
    this.#isLost = true;
    const nothing = { watts: null, volts: null, amps: null, joules: null };
    this.#push({ tNs, ...nothing, flags: ['lost'] });
  }

  /** Silence is counted from here. */
  alive(): void {
    this.#lastNs = process.hrtime.bigint();
  }

  /** Says `lost` when it is due. Returns the silence so far, ns. */
  watch(): number {
    const silence = Number(process.hrtime.bigint() - this.#lastNs);
    if (silence > lostPeriods * this.updatePeriodNs) this.lost();
    return silence;
  }

  /** How often to call `watch`, ms. */
  get watchMs(): number {
    return Math.max(5, this.updatePeriodNs / 4e6);
  }

  #push(sample: Sample): void {
    this.#pushedNs = sample.tNs;
    this.#sink?.sample(sample);
  }
}
