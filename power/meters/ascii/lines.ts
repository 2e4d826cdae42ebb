import { SpikedError } from '../../../client/protocol/errors.js';
import { choice, number, text, type KeyValues } from '../keys.js';
import { meterKind } from '../kind.js';
import type { Line, SerialProtocol } from '../line.js';
import type { MeterTraits, Sample, SampleFlag } from '../meter.js';
import { SerialMeter } from '../serial-meter.js';
import { aborted, pause } from '../timing.js';
import { LineSplitter, readNumber } from './text-lines.js';

const keys = {
  baud: number('speed of the port', 9600, { min: 300, max: 921_600, whole: true }),
  column: number('which number of a line is the power, from 1', 1, { min: 1, max: 100, whole: true }),
  separator: text(
    'what stands between the columns: a character, or "space"; comma, semicolon, tab or space unless given',
    undefined,
  ),
  decimal: choice('what stands before the decimals: point or comma', 'point', ['point', 'comma']),
  unit: choice('of the number', 'W', ['W', 'mW', 'kW']),
  update_ms: number('time between two values', 1000, { min: 1, max: 3_600_000 }),
  step_watts: number('smallest step of the watts', 0.1, { min: 1e-6, max: 1000 }),
  accuracy: number('greatest error as a share of the reading', undefined, { min: 0, max: 0.5 }),
  max_watts: number('greatest power that it can show', undefined, { min: 0.001, max: 1e6 }),
  current: choice('what it measures: ac or dc', 'ac', ['ac', 'dc']),
  rule: choice(
    'what a value is: the mean of the time since the one before, or an instant',
    'backward-rectangle',
    ['backward-rectangle', 'trapezoid'],
  ),
};
type Values = KeyValues<typeof keys>;

const unitsPerWatt = { W: 1, mW: 1000, kW: 0.001 } as const;

/** `lines:PORT`: whatever writes its power as a number on a line. */
export const lines = meterKind(
  {
    kind: 'lines',
    form: 'lines:PORT?baud=9600&column=1&unit=W',
    summary: 'any meter, or a program beside one, that pushes a number of watts on each line',
    path: 'port',
    keys,
  },
  (address, values) => new SerialMeter(new Lines(values), address.text, address.path),
);

class Lines implements SerialProtocol {
  readonly kind = 'lines';
  readonly profile = null;
  readonly settings;
  readonly traits: MeterTraits;

  constructor(private readonly values: Values) {
    this.settings = { baudRate: values.baud };
    this.traits = {
      resolutionWatts: values.step_watts,
      accuracy: values.accuracy ?? null,
      updatePeriodNs: values.update_ms * 1e6,
      rule: values.rule,
      pushes: true,
      maxWatts: values.max_watts ?? null,
      current: values.current === 'ac' ? 'alternating' : 'direct',
    };
  }

  async talk(line: Line): Promise<void> {
    const splitter = new LineSplitter();
    const seen: { begun: boolean; ready: boolean; other: string | null } = {
      begun: false,
      ready: false,
      other: null,
    };
    const comma = new CommaRule(this.values);
    line.receive((bytes, tNs) => {
      for (const { bytes: piece, text: words } of splitter.push(bytes)) {
        // The first line may have begun before the port was opened: `0.3` of `10.3`.
        const clear = words !== null && seen.begun && comma.isClear(words);
        const sample = clear ? sampleOf(words, this.values, tNs) : null;
        const fault = !seen.begun ? 'torn' : sample === null ? 'noise' : undefined;
        line.received({ tNs, bytes: piece, ...(fault !== undefined && { fault }) });
        if (seen.begun && sample === null) seen.other ??= words ?? 'bytes that are no text';
        seen.begun = true;
        if (sample === null) continue;
        if (!seen.ready) line.ready({});
        seen.ready = true;
        line.sample(sample);
      }
    });
    await pause(2000 + 3e-6 * this.traits.updatePeriodNs, line.signal);
    if (!seen.ready && !line.signal.aborted) throw nothing(line.path, this.values, seen.other);
    await aborted(line.signal);
  }
}

/**
 * Whether `10,3` is 10.3 or the columns 10 and 3 nothing in it says: such a line is no reading until `decimal=comma` or a separator was
 * given, or a line with a point and a comma has shown that this meter writes points.
 */
export class CommaRule {
  private known: boolean;

  constructor({ decimal, separator }: Pick<Values, 'decimal' | 'separator'>) {
    this.known = decimal === 'comma' || separator !== undefined;
  }

  /** Call it with every line, in order. */
  isClear(words: string): boolean {
    this.known ||= words.includes(',') && /\d\.\d/.test(words);
    return this.known || !decimalComma.test(words);
  }
}

/** A comma between figures, without a space, that is not one of several. */
const decimalComma = /(?<![\d,.])\d+,\d+(?![\d,])/;

/** The reading of a line; null when the column is no number. */
export function sampleOf(
  words: string,
  values: Pick<Values, 'column' | 'separator' | 'decimal' | 'unit' | 'max_watts' | 'current'>,
  tNs: bigint,
): Sample | null {
  const { separator } = values;
  const comma = values.decimal === 'comma';
  // An empty column counts: the ones after it would be taken for others.
  const usual = comma ? /\s*;\s*|\s+/ : /\s*[,;]\s*|\s+/;
  const between = separator === undefined ? usual : separator === 'space' ? /\s+/ : separator;
  const cells = words.split(between).map((cell) => cell.trim());
  const cell = cells[values.column - 1] ?? '';
  // A unit that stands beside the number, or behind it, is the one that holds.
  const [, digits = '', written] = /^(.*?)\s*(m[Ww]|[kK]?[Ww])?$/.exec(cell) ?? [];
  const behind = /^(m[Ww]|[kK]?[Ww])$/.exec(cells[values.column] ?? '')?.[0];
  const unit = unitOf(written ?? behind) ?? values.unit;
  const found = readNumber(comma ? digits.replace(',', '.') : digits);
  if (found === null) return null;
  const none = { tNs, watts: null, volts: null, amps: null, joules: null };
  if (found === 'nan') return { ...none, flags: ['no-value'] };
  if (found === 'inf') return { ...none, flags: ['saturated'] };
  const watts = found / unitsPerWatt[unit];
  const over = values.max_watts !== undefined && watts >= values.max_watts;
  const flags: SampleFlag[] = over ? ['saturated'] : [];
  if (watts < 0 && values.current === 'ac') flags.push('negative');
  return { ...none, watts, flags };
}

function unitOf(word: string | undefined): Values['unit'] | undefined {
  const lower = word?.toLowerCase();
  return lower === 'w' ? 'W' : lower === 'mw' ? 'mW' : lower === 'kw' ? 'kW' : undefined;
}

function nothing(path: string, { column, baud }: Values, other: string | null): SpikedError {
  if (other === null)
    return new SpikedError(
      'ERR_METER_SILENT',
      `${path}: expected lines with a number at ${String(baud)} baud, found none`,
    );
  return new SpikedError(
    'ERR_METER_MISMATCH',
    `${path}: expected a number in column ${String(column)}, found the line "${other.slice(0, 60)}"; column=, separator=, decimal= and baud= say where it is`,
  );
}
