import { SpikedError } from '../../client/protocol/errors.js';
import type { Address, Means, MeterKind } from './kind.js';
import { kinds } from './kinds.js';
import type { Meter } from './meter.js';
import { portNameWarning } from './serial-link.js';

/**
 * The meter of an address, not yet started: the port is opened by `start`.
 *
 *     pzem:/dev/serial/by-id/usb-x?slave=1    modbus:PORT?profile=mine.json    file:traces/monday?speed=10    hwmon:/sys/class/hwmon/hwmon3
 *     simulate:?kind=wattsup
 *
 * The first `:` ends the kind, the first `?` the path; values may be percent-encoded.
 *
 * @throws SpikedError ERR_INVALID_ARGUMENT the kind or a key is unknown, or a value is not what the key may hold
 * @throws SpikedError ERR_PLAN_INVALID the profile that the address names is unknown or wrong
 */
export function openMeter(address: string, means: Means = {}): Meter {
  const { row, parts } = find(address);
  return row.open(parts, means);
}

/** What to tell whoever wrote an address, beside errors: one sentence each. */
export function addressWarnings(address: string): string[] {
  const { row, parts } = find(address);
  const warning = row.path === 'port' ? portNameWarning(parts.path) : undefined;
  return warning === undefined ? [] : [warning];
}

/** The serial port that an address names; undefined for meters without one. */
export function serialPortOf(address: string): string | undefined {
  const { row, parts } = find(address);
  return row.path === 'port' ? parts.path : undefined;
}

function find(text: string): { row: MeterKind; parts: Address } {
  const colon = text.indexOf(':');
  const kind = colon < 0 ? text : text.slice(0, colon);
  const row = kinds.find((entry) => entry.kind === kind);
  if (colon < 0 || row === undefined) {
    const forms = kinds.map(({ form }) => form).join(', ');
    const found = colon < 0 ? 'an address is KIND:PATH' : `there is no kind of meter "${kind}"`;
    throw new SpikedError('ERR_INVALID_ARGUMENT', `${text}: ${found}; there are ${forms}`);
  }
  const mark = text.indexOf('?', colon);
  const path = text.slice(colon + 1, mark < 0 ? undefined : mark);
  return { row, parts: { text, kind, path, query: mark < 0 ? '' : text.slice(mark + 1) } };
}
