import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SpikedError } from '../../../client/protocol/errors.js';

/** Where the kernel has a sensor's power: in microwatts, or as millivolts and milliamperes. */
export interface SensorFiles {
  readonly folder: string;
  /** `powerz`, `ina226`: what the driver calls it. */
  readonly name: string | null;
  readonly power: string | null;
  readonly volts: string | null;
  readonly amps: string | null;
  /** Time between two values as the driver says, ms. */
  readonly updateMs: number | null;
  /** Not the kernel's: ordinary files. */
  readonly simulated: boolean;
}

export const sensorsFolder = '/sys/class/hwmon';

const fault = (path: string, text: string): SpikedError =>
  new SpikedError('ERR_METER_UNREACHABLE', `${path}: ${text}`);

function line(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}

/** The first channel, by number, of a quantity: `in0_input` before `in1_input`. An average is a better reading than an instant. */
function channel(files: readonly string[], quantity: string): string | null {
  const found = files
    .map((file) => ({ file, match: new RegExp(`^${quantity}(\\d+)_(average|input)$`).exec(file) }))
    .filter(({ match }) => match !== null)
    .sort(
      (a, b) =>
        Number(a.match?.[1]) - Number(b.match?.[1]) || (a.match?.[2] ?? '').localeCompare(b.match?.[2] ?? ''),
    );
  return found[0]?.file ?? null;
}

/**
 * The files of a sensor.
 *
 * @param path  its folder, one `powerN_input` file, or the driver's name, which stays the same when the numbers change
 * @throws SpikedError ERR_METER_UNREACHABLE nothing is there, or it measures no power
 */
export function findSensor(path: string, sensors = sensorsFolder): SensorFiles {
  const given = path.includes('/') ? path : byName(path, sensors);
  if (!existsSync(given)) throw fault(given, `there is no such sensor; ${others(sensors)}`);
  const isFile = statSync(given).isFile();
  const folder = isFile ? dirname(given) : given;
  const files = isFile ? [] : readdirSync(folder);
  const power = isFile ? given : channel(files, 'power');
  const name = line(join(folder, 'name'));
  // The first voltage of an INA2xx is that over its shunt; the second is the bus.
  const volts = name?.startsWith('ina') && files.includes('in1_input') ? 'in1_input' : channel(files, 'in');
  const amps = channel(files, 'curr');
  if (power === null && (volts === null || amps === null))
    throw fault(given, `it measures no power: expected powerN_input, or inN_input and currN_input`);
  const updateMs = Number(line(join(folder, 'update_interval')) ?? NaN);
  const at = (file: string | null): string | null => (file === null ? null : join(folder, file));
  return {
    folder,
    name,
    power: isFile ? power : at(power),
    volts: at(volts),
    amps: at(amps),
    updateMs: updateMs > 0 ? updateMs : null,
    simulated: !realpathSync(given).startsWith('/sys/'),
  };
}

function named(sensors: string): { folder: string; name: string | null }[] {
  const folders = existsSync(sensors) ? readdirSync(sensors).sort() : [];
  return folders.map((entry) => ({
    folder: join(sensors, entry),
    name: line(join(sensors, entry, 'name')),
  }));
}

function byName(name: string, sensors: string): string {
  const found = named(sensors).filter((sensor) => sensor.name === name);
  if (found.length > 1)
    throw fault(name, `${found.map(({ folder }) => folder).join(' and ')} have this name: give the folder`);
  if (found[0] === undefined) throw fault(name, `no sensor has this name; ${others(sensors)}`);
  return found[0].folder;
}

function others(sensors: string): string {
  const found = named(sensors).map(({ folder, name }) => `${folder} (${name ?? 'no name'})`);
  return found.length === 0 ? `${sensors} holds none` : `there are ${found.join(', ')}`;
}
