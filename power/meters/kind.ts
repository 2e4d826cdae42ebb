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

/** A simulator that runs: a real port with a program behind it. */
export interface RunningSimulator {
  readonly path: string;
  stop(): Promise<void>;
}

/** What whoever opens a meter must lend it, since no meter starts programs. */
export interface Means {
  /** Starts a simulated meter with the settings of `spikectl meter simulate`, names as in an address: `period_ms`. */
  readonly simulator?: (settings: Readonly<Record<string, string>>) => Promise<RunningSimulator>;
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
  open(address: Address, means: Means): Meter;
}

/** A row whose `open` gets the values of its keys, typed. */
export function meterKind<K extends Keys>(
  row: Omit<MeterKind, 'keys' | 'open'> & { keys: K },
  open: (address: Address, values: KeyValues<K>, means: Means) => Meter,
): MeterKind {
  return {
    ...row,
    open: (address, means) => {
      if (address.path === '' && row.path !== 'optional')
        throw new SpikedError(
          'ERR_INVALID_ARGUMENT',
          `${address.text}: the ${row.path} is missing; expected ${row.form}`,
        );
      return open(address, readKeys(address.text, row.keys, address.query), means);
    },
  };
}
