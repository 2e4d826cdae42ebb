import { SpikedError } from '../../../client/protocol/errors.js';
import type { Line, SerialProtocol } from '../line.js';
import type { MeterTraits, Sample, SampleFlag } from '../meter.js';
import { mismatch, plausibilityFlags, type Limits } from '../plausible.js';
import type { SerialSettings } from '../serial-link.js';
import { pause } from '../timing.js';
import { decode, type Reading } from './decode.js';
import { ModbusMaster, type Result } from './master.js';
import { isOldAnswer, speaksOldProtocol } from './old-pzem.js';
import type { Profile, RegisterValue } from './profile.js';

/** Requests until a connection is given up: three without an answer, or as many answers that cannot be. */
const attempts = 3;

export interface ModbusOptions {
  readonly pollMs: number;
  /** Turns of the wire through the transformer, inverse: watts and amperes times this. */
  readonly scale: number;
}

/** A Modbus RTU meter by its register map. */
export class ModbusProtocol implements SerialProtocol {
  readonly profile: string;
  readonly settings: SerialSettings;
  readonly traits: MeterTraits;
  readonly #limits: Limits;

  constructor(
    readonly kind: string,
    private readonly map: Profile,
    private readonly options: ModbusOptions,
  ) {
    const { serial, values, current } = map;
    this.profile = map.name;
    this.settings = { baudRate: serial.baud, parity: serial.parity, stopBits: serial.stop_bits };
    this.traits = {
      resolutionWatts: map.step_watts * options.scale,
      accuracy: map.accuracy,
      updatePeriodNs: map.update_ms * 1e6,
      rule: map.rule,
      maxWatts: map.max_watts === null ? null : map.max_watts * options.scale,
      current,
    };
    const step = (entry: RegisterValue | undefined): number =>
      entry === undefined || entry.type === 'f32' ? 0 : entry.scale;
    this.#limits = {
      current,
      maxWatts: map.max_watts,
      maxAmps: map.max_amps,
      voltsBetween: map.volts_between,
      steps: { watts: map.step_watts, volts: step(values.volts), amps: step(values.amps) },
    };
  }

  async talk(line: Line): Promise<void> {
    const { map, options } = this;
    const master = new ModbusMaster(line, {
      slave: map.slave,
      functionCode: map.function_code,
      start: map.start,
      counts: map.counts,
      answerMs: map.answer_ms,
      worstMs: map.worst_ms,
      // 3.5 characters of silence end a frame.
      gapMs: Math.max(5, 35_000 / map.serial.baud),
      crc: map.crc,
    });
    const first = await this.#identify(line, master);
    if (first === undefined) return;
    line.ready({ maker: map.maker, model: map.model });
    line.sample(first);
    let due = performance.now();
    for (;;) {
      // Steps of a fixed clock; a request that took longer than one puts the next where it is.
      due = Math.max(due + options.pollMs, performance.now());
      await pause(due - performance.now(), line.signal);
      if (line.signal.aborted) return;
      const sample = this.#sampleOf(await master.read());
      if (sample !== undefined) line.sample(sample);
    }
  }

  /** The first good sample; undefined when the line ended before it. */
  async #identify(line: Line, master: ModbusMaster): Promise<Sample | undefined> {
    const seen: Result[] = [];
    let strange = '';
    while (seen.length < attempts) {
      const result = await master.read();
      if (line.signal.aborted) return undefined;
      seen.push(result);
      if (result.kind !== 'answer') continue;
      const why = mismatch(this.#read(result.payload), this.#limits);
      const sample = this.#sampleOf(result);
      if (why === undefined) return sample;
      strange = why;
    }
    throw await this.#noMeter(line, seen, strange);
  }

  async #noMeter(line: Line, seen: readonly Result[], strange: string): Promise<SpikedError> {
    const { map, kind } = this;
    const where = `${line.path}: ${map.name}, slave ${map.slave}`;
    const other = (text: string): SpikedError => new SpikedError('ERR_METER_MISMATCH', `${where}: ${text}`);
    if (strange !== '') return other(strange);
    for (const result of seen)
      if (result.kind === 'exception')
        return other(
          `it answers with Modbus exception ${result.code} (${exceptions[result.code] ?? 'unknown'}): another register map`,
        );
    if (seen.some(({ kind: outcome }) => outcome === 'bad'))
      return other(
        'every answer was torn or had a wrong checksum: check the wiring, a second master, or try crc=warn',
      );
    const strangers = seen.flatMap((result) => (result.kind === 'timeout' ? result.strangers : []));
    if (strangers[0] !== undefined)
      return other(`slave ${strangers[0]} answers instead: give slave=${strangers[0]}`);
    const bytes = Buffer.concat(
      seen.map((result) => (result.kind === 'timeout' ? result.bytes : Buffer.alloc(0))),
    );
    const old = isOldAnswer(bytes) || (kind === 'pzem' && (await speaksOldProtocol(line)));
    if (old)
      return other(
        'this is a PZEM-004T v1 or v2: its protocol is not Modbus and is not supported; a v3 or v4 is',
      );
    if (bytes.length > 0) {
      const text = bytes
        .subarray(0, 12)
        .toString('hex')
        .replace(/(..)(?=.)/g, '$1 ');
      return other(
        `${bytes.length} bytes came that are no Modbus answer (${text}): another baud rate, parity or meter`,
      );
    }
    const { baudRate, parity, stopBits } = this.settings;
    return new SpikedError(
      'ERR_METER_SILENT',
      `${where}: no answer to ${attempts} requests at ${baudRate} baud, parity ${parity ?? 'none'}, ${stopBits ?? 1} stop bits; check A/B or RX/TX, the slave number, and that the meter has its mains and the 5 V of its serial side`,
    );
  }

  #read(payload: Uint8Array): Reading {
    return decode(this.map, payload);
  }

  #sampleOf(result: Result): Sample | undefined {
    if (result.kind !== 'answer') return undefined;
    const reading = this.#read(result.payload);
    const { volts, joules } = reading;
    const { scale } = this.options;
    const scaled = (value: number | null): number | null => (value === null ? null : value * scale);
    const flags = new Set<SampleFlag>(plausibilityFlags(reading, this.#limits));
    if (reading.alarm) flags.add('saturated');
    if (reading.noNumber) flags.add('no-value');
    if (!result.checksum && this.map.crc === 'warn') flags.add('checksum');
    return {
      tNs: result.tNs,
      watts: scaled(reading.watts),
      volts,
      amps: scaled(reading.amps),
      joules: scaled(joules),
      flags: [...flags],
    };
  }
}

const exceptions: Readonly<Record<number, string>> = {
  1: 'function not known',
  2: 'register not known',
  3: 'value not allowed',
  4: 'device failed',
  6: 'device busy',
};
