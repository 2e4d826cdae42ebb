import { LineFault } from './sample-line.js';

const missing = new Set([
  '',
  '-',
  '--',
  '_',
  'nan',
  'na',
  'n/a',
  'null',
  'none',
  'inf',
  '+inf',
  '-inf',
  'infinity',
  'overflow',
  'ol',
]);
/** What SCPI meters write for "no value". */
const noValue = 9.9e37;

/** A cell as a number in its own unit; null for what loggers write when they have none. */
export function parseValue(name: string, cell: string, decimalComma: boolean): number | null {
  if (missing.has(cell.toLowerCase())) return null;
  const text = decimalComma ? cell.replace(',', '.') : cell;
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text))
    throw new LineFault(`${name}: expected a number, found "${cell.slice(0, 40)}"`);
  const value = Number(text);
  return Math.abs(value) >= noValue ? null : value;
}

/**
 * A cell as nanoseconds, exactly.
 *
 * @param power  of ten from its unit to ns; null for a wall clock time, which becomes ns since 1970
 */
export function parseMoment(cell: string, power: number | null, decimalComma: boolean): bigint {
  const text = decimalComma ? cell.replace(',', '.') : cell;
  return power === null ? parseWallTime(text) : parseDecimal(text, power);
}

function parseDecimal(text: string, power: number): bigint {
  const match = /^([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d{1,2}))?$/.exec(text);
  if (match === null) throw new LineFault(`time: expected a number, found "${text.slice(0, 40)}"`);
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const digits = BigInt(whole + fraction);
  const shift = power + Number(exponent) - fraction.length;
  const size = 10n ** BigInt(Math.abs(shift));
  const ns = shift >= 0 ? digits * size : (digits + size / 2n) / size;
  return sign === '-' ? -ns : ns;
}

/** Without a zone it is taken for UTC: a trace is about differences. */
function parseWallTime(text: string): bigint {
  const match =
    /^(\d{4})[-/.](\d\d)[-/.](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s*(Z|UTC|[+-]\d\d:?\d\d)?$/.exec(
      text,
    );
  if (match === null)
    throw new LineFault(`time: expected one like 2026-01-02 03:04:05.678, found "${text.slice(0, 40)}"`);
  const [, year, month, day, hour, minute, second, fraction = '', zone = 'Z'] = match;
  const parts = [year, month, day, hour, minute, second].map(Number);
  const [y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0] = parts;
  const date = new Date(Date.UTC(y, mo - 1, d, h, mi, s));
  const back = [
    date.getUTCMonth() + 1,
    date.getUTCDate(),
    date.getUTCHours(),
    date.getUTCMinutes(),
    date.getUTCSeconds(),
  ];
  if (back.some((value, i) => value !== parts[i + 1])) throw new LineFault(`time: there is no "${text}"`);
  const offset = /^([+-])(\d\d):?(\d\d)$/.exec(zone);
  const minutes =
    offset === null ? 0 : Number(`${offset[1] ?? ''}1`) * (Number(offset[2]) * 60 + Number(offset[3]));
  return BigInt(date.getTime() - minutes * 60_000) * 1_000_000n + BigInt(fraction.padEnd(9, '0'));
}
