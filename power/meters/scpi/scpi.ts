import { SpikedError } from '../../../client/protocol/errors.js';
import { readNumber } from '../ascii/text-lines.js';
import { choice, number, type KeyValues } from '../keys.js';
import { meterKind } from '../kind.js';
import type { Facts, Line, SerialProtocol } from '../line.js';
import type { MeterTraits, Sample, SampleFlag } from '../meter.js';
import { plausibilityFlags } from '../plausible.js';
import { SerialMeter } from '../serial-meter.js';
import { pause } from '../timing.js';
import { Asker } from './asker.js';
import { scpiProfiles, type Column, type ScpiProfile } from './profiles.js';

/** Five digits and more: the steps that matter are below these. */
const steps = { watts: 0.01, volts: 0.1, amps: 0.001 };
const names = scpiProfiles.map(({ name }) => name);

const keys = {
  profile: choice('which instrument', undefined, names),
  baud: number("speed of the port; the profile's unless given", undefined, {
    min: 300,
    max: 921_600,
    whole: true,
  }),
  update_ms: number("time between two values; the profile's unless given", undefined, {
    min: 1,
    max: 60_000,
  }),
  poll_ms: number(
    'time between two queries, where the instrument cannot tell of a new value; half of update_ms unless given',
    undefined,
    { min: 1, max: 60_000 },
  ),
  timeout_ms: number('longest wait for an answer', 1000, { min: 10, max: 60_000 }),
  step_watts: number("smallest step of the watts; the profile's unless given", undefined, {
    min: 1e-6,
    max: 10,
  }),
  accuracy: number("greatest error as a share of the reading; the profile's unless given", undefined, {
    min: 0,
    max: 0.5,
  }),
  max_watts: number('greatest power that its range shows', undefined, { min: 0.001, max: 1e6 }),
};
type Values = KeyValues<typeof keys>;

/** `scpi:PORT?profile=wt310`. */
export const scpi = meterKind(
  {
    kind: 'scpi',
    form: `scpi:PORT?profile=${names.join('|')}`,
    summary: 'bench power meters that answer text queries',
    path: 'port',
    keys,
  },
  (address, values) => {
    const profile = scpiProfiles.find(({ name }) => name === values.profile);
    if (profile === undefined)
      throw new SpikedError(
        'ERR_INVALID_ARGUMENT',
        `${address.text}: the profile is missing; expected profile=${names.join(', profile=')}`,
      );
    return new SerialMeter(new Scpi(profile, values), address.text, address.path);
  },
);

class Scpi implements SerialProtocol {
  readonly kind = 'scpi';
  readonly profile: string;
  readonly settings;
  readonly traits: MeterTraits;

  constructor(
    private readonly form: ScpiProfile,
    private readonly values: Values,
  ) {
    this.profile = form.name;
    this.settings = { baudRate: values.baud ?? form.baudRate };
    const { traits } = form;
    this.traits = {
      ...traits,
      resolutionWatts: values.step_watts ?? traits.resolutionWatts,
      accuracy: values.accuracy ?? traits.accuracy,
      updatePeriodNs: values.update_ms === undefined ? traits.updatePeriodNs : values.update_ms * 1e6,
      maxWatts: values.max_watts ?? traits.maxWatts,
    };
  }

  async talk(line: Line): Promise<void> {
    const { form } = this;
    const asker = new Asker(line, form.end, this.values.timeout_ms);
    const facts = await this.recognise(asker, line);
    if (facts === null) return;
    for (const command of form.setup) {
      if (line.signal.aborted) return;
      await (command.endsWith('?') ? asker.ask(command) : asker.send(command));
    }
    await this.verify(asker, line);

    let ready = false;
    // Twice an update, so that none is missed where the two clocks beat.
    const pollMs = this.values.poll_ms ?? this.traits.updatePeriodNs / 2e6;
    for (let due = performance.now(); !line.signal.aborted;) {
      const sample = await this.read(asker);
      if (sample !== null) {
        if (!ready) line.ready(facts);
        ready = true;
        line.sample(sample);
      } else if (!ready && !isOver(line)) {
        throw new SpikedError(
          'ERR_METER_SILENT',
          `${line.path}: ${form.name} says who it is, but gives no reading for ${form.read}`,
        );
      }
      // Whoever waits for a fresh value keeps the meter's own time.
      due = Math.max(due + pollMs, performance.now());
      if (form.wait === undefined) await pause(due - performance.now(), line.signal);
    }
    if (line.stopping) for (const command of form.farewell) await asker.send(command);
  }

  /** Nothing but `*IDN?` is sent to what may be another device. */
  private async recognise(asker: Asker, line: Line): Promise<Facts | null> {
    // An end first: what somebody left half said must not spoil the query.
    await asker.send('');
    const ask = () => asker.ask('*IDN?');
    let answer = (await ask()) ?? (await ask());
    if (answer !== null && !this.form.identity.test(answer)) {
      // It may be the late answer to the last query of whoever read here before.
      asker.doubt();
      answer = (await ask()) ?? answer;
    }
    if (line.signal.aborted) return null;
    if (answer === null && asker.stray === null)
      throw new SpikedError(
        'ERR_METER_SILENT',
        `${line.path}: no answer to *IDN? at ${String(this.settings.baudRate)} baud: is the meter on, set to this port and speed, and the cable the right one?`,
      );
    const found = answer ?? asker.stray ?? '';
    if (!this.form.identity.test(found))
      throw new SpikedError(
        'ERR_METER_MISMATCH',
        `${line.path}: expected a ${this.form.name}, found "${found.slice(0, 80)}" as the answer to *IDN?`,
      );
    const [maker = null, model = null, serial = null, firmware = null] = found
      .split(',')
      .map((word) => word.trim());
    return { maker, model, serial, firmware };
  }

  /** Longest that the meter may hold an answer back until a new value is there. */
  private get holdMs(): number {
    const { wait, slowestUpdateMs } = this.form;
    return wait === undefined ? 0 : 2 * (this.values.update_ms ?? slowestUpdateMs);
  }

  private async verify(asker: Asker, line: Line): Promise<void> {
    const { verify, name } = this.form;
    if (verify === undefined) return;
    const answer = await asker.ask(verify.query);
    if (line.signal.aborted || answer?.split(/\s+/).at(-1) === verify.ends) return;
    throw new SpikedError(
      'ERR_METER_MISMATCH',
      `${line.path}: expected a ${name} that answers ${verify.query} with ${verify.ends}, found ${answer === null ? 'no answer' : `"${answer.slice(0, 60)}"`}`,
    );
  }

  /** One reading; null when there was no answer to any of its queries, or one that is none. */
  private async read(asker: Asker): Promise<Sample | null> {
    const { form } = this;
    if (form.wait !== undefined) await asker.send(form.wait);
    const answer = await asker.ask(form.read, this.holdMs);
    const tNs = asker.answeredNs;
    const sample = answer === null ? null : sampleOf(answer, form.columns, this.traits, tNs);
    let over = false;
    for (const query of form.status?.queries ?? []) {
      const bits = Number(await asker.ask(query));
      over ||= (bits & (form.status?.over ?? 0)) !== 0;
    }
    if (sample === null || !over || sample.flags.includes('saturated')) return sample;
    return { ...sample, flags: [...sample.flags, 'saturated'] };
  }
}

const isOver = ({ signal }: Line): boolean => signal.aborted;

/**
 * The reading of an answer such as `10.4E+00,230.1E+00,NAN`, columns by position; a header in front is left out, and a unit behind a number. Null when a column is
 * missing or no number.
 */
export function sampleOf(
  answer: string,
  columns: readonly Column[],
  traits: Pick<MeterTraits, 'maxWatts' | 'current'>,
  tNs: bigint,
): Sample | null {
  const cells = answer
    .replace(/^:?[A-Za-z][A-Za-z0-9:]*\s+(?=\S)/, '')
    .split(',')
    .map((cell) => readNumber(cell.trim().replace(/(?<=[\d.])\s*[WVA]$/i, '')));
  const found: Record<Column, number | null> = { watts: null, volts: null, amps: null };
  const flags = new Set<SampleFlag>();
  for (const [i, column] of columns.entries()) {
    const value = cells[i];
    if (value === undefined || value === null) return null;
    if (typeof value === 'number') found[column] = value;
    else if (value === 'inf') flags.add('saturated');
    else if (column === 'watts') flags.add('no-value');
  }
  const { watts } = found;
  if (watts !== null && traits.maxWatts !== null && watts >= traits.maxWatts) flags.add('saturated');
  if (watts !== null) for (const flag of plausibilityFlags(found, { ...traits, steps })) flags.add(flag);
  return { tNs, ...found, joules: null, flags: [...flags] };
}
