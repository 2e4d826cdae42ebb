import { SpikedError } from '../../../client/protocol/errors.js';
import { firstThatAnswers } from '../first-that-answers.js';
import { choice, number, type KeyValues } from '../keys.js';
import { meterKind } from '../kind.js';
import type { Facts, Line, SerialProtocol } from '../line.js';
import type { MeterTraits, Sample } from '../meter.js';
import { plausibilityFlags, type Limits } from '../plausible.js';
import { SerialMeter } from '../serial-meter.js';
import { aborted, pause } from '../timing.js';
import { PacketParser, type Packet } from './packets.js';

/** The meter answers a command within 2 s. */
const answerMs = 2_000;
/** A first try may fall on the tail of a stream that an earlier program left running. */
const tries = 2;
const ctrlX = '\x18';
const stop = '#L,W,0;';
const maxWatts = 5000;
const limits: Limits = {
  current: 'alternating',
  maxWatts,
  steps: { watts: 0.1, volts: 0.1, amps: 0.001 },
};

const keys = {
  baud: choice('speed of the port; both are tried unless given: 19200 is the one of hardware 1', undefined, [
    '115200',
    '19200',
  ]),
  interval_s: number('seconds between two values', 1, { min: 1, max: 3600, whole: true }),
  update_ms: number('time between two values, for a meter with another clock', undefined, {
    min: 1,
    max: 3_600_000,
  }),
  step_watts: number('smallest step of the watts', 0.1, { min: 1e-6, max: 10 }),
  accuracy: number('greatest error as a share of the reading', 0.015, { min: 0, max: 0.5 }),
};

/** `wattsup:PORT`: Watts Up? PRO, PRO ES, .NET. */
export const wattsup = meterKind(
  {
    kind: 'wattsup',
    form: 'wattsup:PORT',
    summary: 'Watts Up? PRO, PRO ES, .NET: a value a second, pushed',
    path: 'port',
    keys,
  },
  (address, values) => {
    const speeds = values.baud === undefined ? [115_200, 19_200] : [Number(values.baud)];
    const meters = speeds.map(
      (baudRate) => new SerialMeter(new WattsUp(baudRate, values), address.text, address.path),
    );
    return firstThatAnswers(meters);
  },
);

/** The stream `#L,W,3,E`, which the meter does not keep; its memory, which other modes clear, is left alone. */
class WattsUp implements SerialProtocol {
  readonly kind = 'wattsup';
  readonly profile = null;
  readonly settings;
  readonly traits: MeterTraits;

  constructor(
    baudRate: number,
    private readonly values: KeyValues<typeof keys>,
  ) {
    this.settings = { baudRate };
    this.traits = {
      resolutionWatts: values.step_watts,
      accuracy: values.accuracy,
      updatePeriodNs: (values.update_ms ?? values.interval_s * 1000) * 1e6,
      rule: 'backward-rectangle',
      pushes: true,
      maxWatts,
      current: 'alternating',
    };
  }

  async talk(line: Line): Promise<void> {
    const parser = new PacketParser();
    let heard = 0;
    let take: (packet: Packet, tNs: bigint) => void = () => undefined;
    line.receive((bytes, tNs) => {
      heard += bytes.length;
      for (const { packet, fault, bytes: piece } of parser.push(bytes)) {
        // Without its eighteen numbers a data packet is damaged, whatever its form.
        const why = packet?.command === 'd' && sampleOf(packet, tNs) === null ? 'torn' : fault;
        line.received({ tNs, bytes: piece, ...(why !== null && { fault: why }) });
        if (packet !== null) take(packet, tNs);
      }
    });
    const send = (text: string): Promise<void> => line.write(Buffer.from(text, 'latin1'));
    /** The next packet of a command; null when none comes in time. */
    const next = async (command: string, ms: number): Promise<Packet | null> => {
      const end = new AbortController();
      const signal = AbortSignal.any([end.signal, line.signal]);
      const got: { packet: Packet | null } = { packet: null };
      take = (packet) => {
        if (packet.command !== command) return;
        got.packet = packet;
        end.abort();
      };
      await pause(ms, signal);
      return got.packet;
    };

    await send(ctrlX + stop);
    let version: Packet | null = null;
    for (let i = 0; i < tries && version === null && !line.signal.aborted; ++i) {
      await send('#V,R,0;');
      version = await next('v', answerMs);
      if (version === null) line.timeout();
    }
    if (line.signal.aborted) return;
    if (version === null) throw noAnswer(line.path, this.settings.baudRate, heard);

    const facts = factsOf(version);
    const { signal } = line;
    const seen = { data: false };
    take = (packet, tNs) => {
      if (packet.command !== 'd') return;
      const sample = sampleOf(packet, tNs);
      if (sample === null) return;
      if (!seen.data) line.ready(facts);
      seen.data = true;
      line.sample(sample);
    };
    await send(`#L,W,3,E,_,${String(this.values.interval_s)};`);
    await pause(answerMs + 2.5e-6 * this.traits.updatePeriodNs, signal);
    if (!seen.data && !signal.aborted)
      throw new SpikedError(
        'ERR_METER_SILENT',
        `${line.path}: a Watts Up? answers, but sends no data after #L,W,3,E: switch it off and on`,
      );
    await aborted(line.signal);
    if (line.stopping) await send(stop);
  }
}

/** The reading of a data packet; null when it has not the eighteen values, in tenths but for milliamperes. */
export function sampleOf({ args }: Packet, tNs: bigint): Sample | null {
  if (args.length !== 18 || !args.every((value) => value === '_' || /^-?\d{1,9}$/.test(value))) return null;
  const value = (i: number, unit: number): number | null => {
    const text = args[i] ?? '_';
    return text === '_' ? null : Number(text) / unit;
  };
  const watts = value(0, 10);
  const wattHours = value(3, 10);
  const shown = { watts, volts: value(1, 10), amps: value(2, 1000) };
  const flags = plausibilityFlags({ ...shown, powerFactor: value(13, 100) }, limits);
  if (watts !== null && watts >= maxWatts) flags.push('saturated');
  return {
    tNs,
    ...shown,
    joules: wattHours === null ? null : wattHours * 3600,
    flags,
  };
}

/** `#v,-,8,model,memory,hardware major,minor,firmware major,minor,timestamp,checksum;` */
function factsOf({ args }: Packet): Facts {
  const [model = '?', , hardwareMajor = '?', hardwareMinor = '?', major = '?', minor = '?', stamp = '?'] =
    args;
  return {
    maker: 'Electronic Educational Devices',
    model: `Watts Up? model ${model}, hardware ${hardwareMajor}.${hardwareMinor}`,
    firmware: `${major}.${minor} (${stamp})`,
  };
}

function noAnswer(path: string, baud: number, heard: number): SpikedError {
  if (heard === 0)
    return new SpikedError(
      'ERR_METER_SILENT',
      `${path}: no answer to #V,R,0; at ${String(baud)} baud: is the meter on, and is this its port?`,
    );
  return new SpikedError(
    'ERR_METER_MISMATCH',
    `${path}: expected a Watts Up? at ${String(baud)} baud, found ${String(heard)} bytes without its version packet`,
  );
}
