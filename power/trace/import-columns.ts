import { SpikedError } from '../../client/protocol/errors.js';

/** What a unit is of ours: a factor for values, a power of ten of nanoseconds for times, or a time of day. */
const units = {
  time: { s: 9, ms: 6, us: 3, ns: 0, wall: null },
  watts: { W: 1, mW: 1e-3, uW: 1e-6, kW: 1e3 },
  volts: { V: 1, mV: 1e-3, uV: 1e-6 },
  amps: { A: 1, mA: 1e-3, uA: 1e-6 },
  joules: { J: 1, mJ: 1e-3, kJ: 1e3, mWh: 3.6, Wh: 3600, kWh: 3.6e6 },
} as const;
export type Quantity = keyof typeof units;

export interface Column {
  /** Its title, or its number from 1. */
  readonly column: string;
  readonly unit: string;
  /** See `units`. */
  readonly scale: number | null;
}
/** `time` always; `watts`, or both `volts` and `amps`. */
export type Columns = Readonly<Partial<Record<Quantity, Column>>> & { readonly time: Column };

export const unitsText = Object.entries(units)
  .map(([quantity, known]) => `${quantity} ${Object.keys(known).join(', ')}`)
  .join('; ');

/**
 * The mapping that `time=1:ms,watts=Power:mW` writes: quantity, column by title or number, unit. Without a unit: s, W, V, A, J.
 *
 * @throws SpikedError ERR_INVALID_ARGUMENT unknown or double quantity, unknown unit, no time, nothing to have watts from
 */
export function parseColumns(text: string): Columns {
  const found: Partial<Record<Quantity, Column>> = {};
  // A title may hold commas and colons: only what is followed by a quantity, or is a unit, is a mark.
  for (const part of text.split(/,(?=(?:time|watts|volts|amps|joules)=)/)) {
    const at = part.indexOf('=');
    const quantity = part.slice(0, at).trim();
    if (at < 0 || !isQuantity(quantity))
      throw wrong(
        `expected QUANTITY=COLUMN[:UNIT] with one of ${Object.keys(units).join(', ')}, found "${part}"`,
      );
    if (found[quantity] !== undefined) throw wrong(`${quantity} comes twice`);
    found[quantity] = parseColumn(quantity, part.slice(at + 1).trim());
  }
  const { time } = found;
  if (time === undefined) throw wrong('expected time=…, found none');
  if (found.watts === undefined && (found.volts === undefined || found.amps === undefined))
    throw wrong('expected watts=…, or volts=… and amps=… of direct current, found neither');
  return { ...found, time };
}

function parseColumn(quantity: Quantity, text: string): Column {
  const known: Readonly<Record<string, number | null>> = units[quantity];
  const colon = text.lastIndexOf(':');
  const unit = text.slice(colon + 1);
  if (colon > 0 && Object.hasOwn(known, unit))
    return { column: text.slice(0, colon), unit, scale: known[unit] ?? null };
  if (text === '') throw wrong(`${quantity}: expected a column, found none`);
  if (/^\d+:/.test(text))
    throw wrong(`${quantity}: expected a unit of ${Object.keys(known).join(', ')}, found "${unit}"`);
  const [first = ''] = Object.keys(known);
  return { column: text, unit: first, scale: known[first] ?? null };
}

const isQuantity = (text: string): text is Quantity => Object.hasOwn(units, text);
const wrong = (text: string): SpikedError => new SpikedError('ERR_INVALID_ARGUMENT', `--columns: ${text}`);
