import { SpikedError } from '../../client/protocol/errors.js';
import { readKeys, type Keys, type KeyValues } from './keys.js';
import type { Meter } from './meter.js';

/** An address taken apart: `kind:path?key=value&key=value`. */
export interface Address {
  /** As it was written. */
  readonly text: string;
  readonly kind: string;
  readonly path: string;
  readonly query: string;
}

/** One row of the table of kinds. */
export interface MeterKind {
  readonly kind: string;
  /** `pzem:PORT?slave=1`: how an address looks. */
  readonly form: string;
  /** One line for help. */
  readonly summary: string;
  /** What comes after the colon: a serial port is warned of when its name may change. */
  readonly path: 'port' | 'folder' | 'file' | 'optional';
  readonly keys: Keys;
  /** Does not touch the port; files that the address names are read. */
  open(address: Address): Meter;
}

/** A row whose `open` gets the values of its keys, typed. */
export function meterKind<K extends Keys>(
  row: Omit<MeterKind, 'keys' | 'open'> & { keys: K },
  open: (address: Address, values: KeyValues<K>) => Meter,
): MeterKind {
  return {
    ...row,
    open: (address) => {
      if (address.path === '' && row.path !== 'optional')
        throw new SpikedError(
          'ERR_INVALID_ARGUMENT',
          `${address.text}: the ${row.path} is missing; expected ${row.form}`,
        );
      return open(address, readKeys(address.text, row.keys, address.query));
    },
  };
}
