import { readFile } from 'node:fs/promises';
import { SpikedError } from '../../../client/protocol/errors.js';
import type { Address } from '../kind.js';
import { choice, number, type KeyValues } from '../keys.js';
import { meterKind } from '../kind.js';
import type {
  Meter,
  MeterCounts,
  MeterIdentity,
  MeterSink,
  MeterTraits,
  Rule,
  SampleFlag,
} from '../meter.js';
import { SampleStream } from '../sample-stream.js';
import { pause } from '../timing.js';
import { findSensor, type SensorFiles } from './files.js';

const keys = {
  update_ms: number(
    "time between two values; the driver's update_interval, or 100, unless given",
    undefined,
    {
      min: 1,
      max: 60_000,
    },
  ),
  poll_ms: number('time between two readings; half of update_ms unless given', undefined, {
    min: 1,
    max: 60_000,
  }),
  step_watts: number('smallest step of the watts', 0.01, { min: 1e-6, max: 10 }),
  accuracy: number('greatest error as a share of the reading', undefined, { min: 0, max: 0.5 }),
  rule: choice('what a value is: an instant, or the mean of the time since the one before', undefined, [
    'trapezoid',
    'backward-rectangle',
  ]),
  scale: number('factor of watts and amperes; -1 for a meter that is plugged in the other way round', 1, {
    min: -1000,
    max: 1000,
  }),
};

/** `hwmon:/sys/class/hwmon/hwmon3`, `hwmon:powerz`: a sensor of the kernel. */
export const hwmon = meterKind(
  {
    kind: 'hwmon',
    form: 'hwmon:FOLDER|powerN_input|NAME',
    summary: 'a power sensor that the kernel drives: INA2xx shields, POWER-Z KM003C, power management chips',
    path: 'file',
    keys,
  },
  (address, values) => new HwmonMeter(address, values),
);

/** Millivolts, milliamperes and microwatts of a kernel sensor, read again and again. Direct current. */
class HwmonMeter implements Meter {
  readonly traits: MeterTraits;
  readonly #stop = new AbortController();
  readonly #stream: SampleStream;
  readonly #pollMs: number;
  #files: SensorFiles;
  #life: Promise<void> = Promise.resolve();

  constructor(
    private readonly address: Address,
    private readonly values: KeyValues<typeof keys>,
  ) {
    this.#files = findSensor(address.path);
    const updateMs = values.update_ms ?? this.#files.updateMs ?? 100;
    // A driver with an interval averages over it; one without reads the instant.
    const rule: Rule = this.#files.updateMs === null ? 'trapezoid' : 'backward-rectangle';
    this.#pollMs = values.poll_ms ?? updateMs / 2;
    this.traits = {
      resolutionWatts: values.step_watts,
      accuracy: values.accuracy ?? null,
      updatePeriodNs: updateMs * 1e6,
      rule: values.rule ?? rule,
      maxWatts: null,
      current: 'direct',
    };
    this.#stream = new SampleStream(updateMs * 1e6);
  }

  get identity(): MeterIdentity {
    const { name, simulated } = this.#files;
    const unknown = { maker: null, serial: null, firmware: null };
    return { kind: 'hwmon', profile: null, address: this.address.text, model: name, ...unknown, simulated };
  }

  get counts(): MeterCounts {
    return this.#stream.counts;
  }

  async start(sink: MeterSink): Promise<void> {
    if (!this.#stream.begin(sink))
      throw new SpikedError('ERR_INVALID_ARGUMENT', `${this.address.text}: it is started already`);
    await this.#read();
    this.#life = this.#live();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#life;
  }

  async #live(): Promise<void> {
    const { signal } = this.#stop;
    const watch = setInterval(() => this.#stream.watch(), this.#stream.watchMs);
    let failing = false;
    // Steps of a fixed clock: the time that a reading takes does not add up.
    for (
      let due = performance.now();
      !signal.aborted;
      due = Math.max(due + this.#pollMs, performance.now())
    ) {
      await pause(due - performance.now(), signal);
      try {
        // Behind a new plugging in the same sensor may have another number.
        if (failing) this.#files = findSensor(this.address.path);
        await this.#read();
        if (failing) this.#stream.add('reconnects');
        failing = false;
      } catch {
        failing = true;
        this.#stream.watch();
        await pause(250, signal);
      }
    }
    clearInterval(watch);
  }

  /** One sample. Throws ERR_METER_LOST when a file cannot be read or holds no number. */
  async #read(): Promise<void> {
    const { power, volts: voltsFile, amps: ampsFile } = this.#files;
    this.#stream.add('requests');
    const [microwatts, millivolts, milliamps] = await Promise.all([power, voltsFile, ampsFile].map(numberOf));
    const tNs = process.hrtime.bigint();
    const { scale } = this.values;
    const scaled = (value: number | null | undefined, unit: number): number | null =>
      value === null || value === undefined ? null : (value / unit) * scale;
    const amps = scaled(milliamps, 1e3);
    const volts = typeof millivolts === 'number' ? millivolts / 1e3 : null;
    const watts = scaled(microwatts, 1e6) ?? (volts === null || amps === null ? null : volts * amps);
    // A board gives no power back: the current is counted the other way.
    const flags: SampleFlag[] = watts !== null && watts < 0 ? ['suspect'] : [];
    if (!this.#stop.signal.aborted) this.#stream.sample({ tNs, watts, volts, amps, joules: null, flags });
  }
}

async function numberOf(path: string | null): Promise<number | null> {
  if (path === null) return null;
  const found = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new SpikedError('ERR_METER_LOST', `${path}: ${(error as Error).message}`, { cause: error });
  });
  if (!/^-?\d+\s*$/.test(found))
    throw new SpikedError(
      'ERR_METER_LOST',
      `${path}: expected a whole number, found "${found.slice(0, 40).trim()}"`,
    );
  return Number(found);
}
