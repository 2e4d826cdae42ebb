/**
 * Clocks, governors and temperatures as the kernel tells them under /sys. Read here and not through systeminformation, which starts three
 * shells for a temperature, one of them synchronously, looks for zones that RK3588 does not name so, and knows the first CPU's governor only.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What has no reading is undefined. */
export interface CoreReading {
  cpu: number;
  governor: string | undefined;
  driver: string | undefined;
  clockHz: number | undefined;
  /** Lowest and highest that the core can. */
  minHz: number | undefined;
  maxHz: number | undefined;
  /** Highest that it may have now. */
  limitHz: number | undefined;
  /** Times that it became too hot (x86). */
  throttleEvents: number | undefined;
  /** CPUs that share its clock. */
  shares: string | undefined;
}

/** A device that cools by lowering a clock, and how far it is with that; 0 is not at all. */
export interface CoolingReading {
  device: string;
  state: number;
}

export interface TemperatureReading {
  zone: string;
  celsius: number;
}

export interface MachineReading {
  cores: CoreReading[];
  cooling: CoolingReading[];
  temperatures: TemperatureReading[];
}

async function text(path: string): Promise<string | undefined> {
  // A zone that is switched off has a file that cannot be read.
  const found = await readFile(path, 'utf8').catch(() => '');
  return found.trim() === '' ? undefined : found.trim();
}

async function integer(path: string): Promise<number | undefined> {
  const found = await text(path);
  return found !== undefined && /^-?\d+$/.test(found) ? Number(found) : undefined;
}

async function hertz(path: string): Promise<number | undefined> {
  const khz = await integer(path);
  return khz === undefined || khz <= 0 ? undefined : khz * 1000;
}

async function folders(path: string, prefix: string): Promise<string[]> {
  const names = await readdir(path).catch(() => []);
  return names.filter((name) => name.startsWith(prefix)).map((name) => join(path, name));
}

async function readCore(cpu: number, sys: string): Promise<CoreReading> {
  const folder = join(sys, 'devices/system/cpu', `cpu${cpu}`);
  const [governor, driver, clockHz, minHz, maxHz, limitHz, shares, throttleEvents] = await Promise.all([
    text(join(folder, 'cpufreq/scaling_governor')),
    text(join(folder, 'cpufreq/scaling_driver')),
    hertz(join(folder, 'cpufreq/scaling_cur_freq')),
    hertz(join(folder, 'cpufreq/cpuinfo_min_freq')),
    hertz(join(folder, 'cpufreq/cpuinfo_max_freq')),
    hertz(join(folder, 'cpufreq/scaling_max_freq')),
    text(join(folder, 'cpufreq/related_cpus')),
    integer(join(folder, 'thermal_throttle/core_throttle_count')),
  ]);
  return { cpu, governor, driver, clockHz, minHz, maxHz, limitHz, shares, throttleEvents };
}

async function readCooling(sys: string): Promise<CoolingReading[]> {
  const found = await folders(join(sys, 'class/thermal'), 'cooling_device');
  const all = await Promise.all(
    found.map(async (folder) => {
      const [device, state] = [await text(join(folder, 'type')), await integer(join(folder, 'cur_state'))];
      if (device?.includes('cpufreq') !== true || state === undefined) return [];
      return [{ device, state }];
    }),
  );
  return all.flat();
}

async function readTemperatures(sys: string): Promise<TemperatureReading[]> {
  const [zones, chips] = [
    await folders(join(sys, 'class/thermal'), 'thermal_zone'),
    await folders(join(sys, 'class/hwmon'), 'hwmon'),
  ];
  const read = async (name: string | undefined, path: string): Promise<TemperatureReading[]> => {
    const milli = await integer(path);
    return name === undefined || milli === undefined ? [] : [{ zone: name, celsius: milli / 1000 }];
  };
  const all = [
    ...zones.map(async (zone) => read(await text(join(zone, 'type')), join(zone, 'temp'))),
    // AMD's processors have no zone of their own.
    ...chips.map(async (chip) => {
      const name = await text(join(chip, 'name'));
      return name === 'k10temp' ? read(name, join(chip, 'temp1_input')) : [];
    }),
  ];
  const found = (await Promise.all(all)).flat();
  return found.filter(({ zone }, i) => found.findIndex((other) => other.zone === zone) === i);
}

/**
 * Of these CPUs, and of the machine.
 *
 * @param sys  tests bring their own
 */
export async function readMachine(cpus: readonly number[], sys = '/sys'): Promise<MachineReading> {
  const [cores, cooling, temperatures] = await Promise.all([
    Promise.all(cpus.map((cpu) => readCore(cpu, sys))),
    readCooling(sys),
    readTemperatures(sys),
  ]);
  return { cores, cooling, temperatures };
}
