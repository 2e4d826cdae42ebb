import { SpikedError } from '../../../client/protocol/errors.js';
import { choice, number, text, type KeyValues } from '../keys.js';
import { meterKind, type Address } from '../kind.js';
import type { Meter } from '../meter.js';
import { SerialMeter } from '../serial-meter.js';
import { parseProfile, readProfile, type Profile } from './profile.js';
import { profiles } from './profiles.js';
import { ModbusProtocol } from './protocol.js';

const ms = { min: 1, max: 60_000 };
const keys = {
  slave: number('Modbus address; 248 asks whoever is there (PZEM, alone on its wires)', undefined, {
    min: 1,
    max: 248,
    whole: true,
  }),
  baud: number('speed of the port', undefined, { min: 50, max: 4_000_000, whole: true }),
  parity: choice('of the port', undefined, ['none', 'even', 'odd']),
  crc: choice('a wrong checksum: drop the answer, take it as unusable, take it as good', undefined, [
    'strict',
    'warn',
    'ignore',
  ]),
  scale: number('factor of watts, amperes and joules: 1/n for n turns through the transformer', 1, {
    min: 1e-6,
    max: 1e6,
  }),
  max_watts: number('readings above it are suspect', undefined, { min: 0.001, max: 1e9 }),
  update_ms: number('time between two values of the meter', undefined, ms),
  poll_ms: number('time between two requests; a quarter of update_ms unless given', undefined, ms),
  answer_ms: number('wait for an answer', undefined, ms),
  worst_ms: number('longest time that an answer may take', undefined, ms),
};

function open(address: Address, base: Profile, values: KeyValues<typeof keys>): Meter {
  const given = {
    slave: values.slave,
    crc: values.crc,
    max_watts: values.max_watts,
    update_ms: values.update_ms,
    answer_ms: values.answer_ms,
    worst_ms: values.worst_ms ?? Math.max(base.worst_ms, values.answer_ms ?? 0),
  };
  const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const serial = {
    ...base.serial,
    baud: values.baud ?? base.serial.baud,
    parity: values.parity ?? base.serial.parity,
  };
  const profile = parseProfile({ ...base, ...changes, serial }, address.text);
  // Four polls an update: a new value is seen within a quarter of its time.
  const pollMs = values.poll_ms ?? Math.max(profile.update_ms / 4, 10);
  const protocol = new ModbusProtocol(address.kind, profile, { pollMs, scale: values.scale });
  return new SerialMeter(protocol, address.text, address.path);
}

/** A built-in profile by name, or a user's by the path of a JSON file. */
function findProfile(address: Address, name: string): Profile {
  const found = profiles.get(name);
  if (found !== undefined) return found;
  if (name.includes('/') || name.endsWith('.json')) return readProfile(name);
  const known = [...profiles.keys()].join(', ');
  throw new SpikedError(
    'ERR_INVALID_ARGUMENT',
    `${address.text}: there is no profile "${name}"; there are ${known}, or give the path of a JSON file`,
  );
}

/** `pzem:PORT?slave=1`; `profile=pzem-dc` for the meters of direct current. */
export const pzem = meterKind(
  {
    kind: 'pzem',
    form: 'pzem:PORT?slave=1',
    summary: 'Peacefair PZEM-004T v3/v4, -014, -016; with profile=pzem-dc the -003 and -017',
    path: 'port',
    keys: { ...keys, profile: choice('register map', 'pzem-004t', ['pzem-004t', 'pzem-dc']) },
  },
  (address, values) => open(address, findProfile(address, values.profile), values),
);

/** `hopi:PORT`. */
export const hopi = meterKind(
  { kind: 'hopi', form: 'hopi:PORT', summary: 'HOPI HP-9800', path: 'port', keys },
  (address, values) => open(address, findProfile(address, 'hp-9800'), values),
);

/** `modbus:PORT?profile=NAME`: any meter that has a register map. */
export const modbus = meterKind(
  {
    kind: 'modbus',
    form: 'modbus:PORT?profile=FILE.json|NAME',
    summary: `a Modbus RTU meter by its register map: ${[...profiles.keys()].join(', ')}, or a JSON file`,
    path: 'port',
    keys: { ...keys, profile: text('built-in name, or path of a JSON file', undefined) },
  },
  (address, values) => {
    if (values.profile === undefined)
      throw new SpikedError(
        'ERR_INVALID_ARGUMENT',
        `${address.text}: profile is missing; there are ${[...profiles.keys()].join(', ')}, or the path of a JSON file`,
      );
    return open(address, findProfile(address, values.profile), values);
  },
);
