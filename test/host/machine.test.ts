/** Clocks, temperatures and what holds cores back, on made-up boards. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  allowedCpus,
  cpusInUse,
  findings,
  formatCpuList,
  parseCpuList,
  readMachine,
} from '../../native/host/index.js';
import { assert, suite, tempDir } from '../tools/suite.js';

const test = suite('machine');

/** A made-up /sys. */
class Board {
  readonly sys = tempDir();

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.sys, path)), { recursive: true });
    writeFileSync(join(this.sys, path), `${text}\n`);
  }

  core(cpu: number, files: Record<string, string>): void {
    for (const [file, text] of Object.entries(files))
      this.write(`devices/system/cpu/cpu${cpu}/${file}`, text);
  }

  cores(cpus: number[], changes: Record<string, string> = {}): void {
    for (const cpu of cpus)
      this.core(cpu, {
        'cpufreq/scaling_governor': 'ondemand',
        'cpufreq/scaling_driver': 'cpufreq-dt',
        'cpufreq/cpuinfo_min_freq': '408000',
        'cpufreq/cpuinfo_max_freq': '2256000',
        'cpufreq/scaling_max_freq': '2256000',
        'cpufreq/scaling_cur_freq': '2256000',
        'cpufreq/related_cpus': '4 5',
        ...changes,
      });
  }

  async found(busy = false): Promise<string[]> {
    return findings(await readMachine([4, 5], this.sys), busy).map(({ kind, text }) => `${kind}: ${text}`);
  }
}

test('lists of CPUs, both ways', () => {
  assert.equal(parseCpuList('0-3,6\n'), [0, 1, 2, 3, 6]);
  assert.equal(parseCpuList(''), []);
  assert.is(formatCpuList([6, 2, 1, 0, 3]), '0-3,6');
  assert.is(formatCpuList([]), '');
  assert.ok(allowedCpus().length > 0);
  assert.equal(cpusInUse('none'), allowedCpus());
  assert.equal(cpusInUse('4-5'), [4, 5]);
});

test('a board at full speed has readings and no findings', async () => {
  const board = new Board();
  board.cores([4, 5]);
  board.write('class/thermal/thermal_zone0/type', 'bigcore0-thermal');
  board.write('class/thermal/thermal_zone0/temp', '48076');
  board.write('class/thermal/cooling_device0/type', 'cpufreq-cpu4');
  board.write('class/thermal/cooling_device0/cur_state', '0');
  const { cores, temperatures, cooling } = await readMachine([4, 5], board.sys);
  assert.equal(temperatures, [{ zone: 'bigcore0-thermal', celsius: 48.076 }]);
  assert.equal(cooling, [{ device: 'cpufreq-cpu4', state: 0 }]);
  assert.is(cores[1]?.cpu, 5);
  assert.is(cores[1]?.clockHz, 2_256_000_000);
  assert.is(cores[1]?.governor, 'ondemand');
  assert.equal(await board.found(true), []);
});

test('a machine that tells nothing has no readings, and no zeros', async () => {
  const board = new Board();
  board.write('class/thermal/thermal_zone0/type', 'switched-off');
  board.write('class/thermal/thermal_zone0/temp', '');
  const { cores, temperatures, cooling } = await readMachine([4], board.sys);
  assert.equal(
    Object.entries(cores[0] ?? {}).filter(([, value]) => value !== undefined),
    [['cpu', 4]],
  );
  assert.equal([...temperatures, ...cooling], []);
  assert.equal(await board.found(true), []);
});

test('powersave holds the clock down, but not where the driver governs itself', async () => {
  const board = new Board();
  board.cores([4, 5], { 'cpufreq/scaling_governor': 'powersave', 'cpufreq/scaling_cur_freq': '408000' });
  assert.equal(await board.found(true), [
    'governor: CPUs 4-5: governor powersave holds the clock down (they can 2256 MHz)',
  ]);
  board.cores([4, 5], { 'cpufreq/scaling_governor': 'powersave', 'cpufreq/scaling_driver': 'intel_pstate' });
  assert.equal(await board.found(), []);
});

test('a governor at the lowest clock counts only under load', async () => {
  const board = new Board();
  board.cores([4, 5], { 'cpufreq/scaling_cur_freq': '408000' });
  assert.equal(await board.found(false), []);
  assert.equal(await board.found(true), [
    'clock_low: CPUs 4-5: governor ondemand leaves the clock at 408 MHz of 2256 MHz under load',
  ]);
  board.cores([5]);
  assert.match((await board.found(true))[0] ?? '', /CPU 4: /);
});

test('a limit below what the core can is found, CPU by CPU', async () => {
  const board = new Board();
  board.cores([4]);
  board.cores([5], { 'cpufreq/scaling_max_freq': '1800000' });
  assert.equal(await board.found(), ['clock_limit: CPU 5: the clock may reach 1800 MHz of 2256 MHz']);
  board.cores([5], { 'cpufreq/scaling_max_freq': '2250000' });
  assert.equal(await board.found(), []);
});

test('a cooling device that lowers the clock of other cores does not count', async () => {
  const board = new Board();
  board.cores([4, 5]);
  const cool = (type: string, state: string): void => {
    board.write('class/thermal/cooling_device0/type', type);
    board.write('class/thermal/cooling_device0/cur_state', state);
  };
  cool('cpufreq-cpu0', '3');
  assert.equal(await board.found(), []);
  cool('pwm-fan', '2');
  assert.equal(await board.found(), []);
  cool('cpufreq-cpu4', '3');
  assert.equal(await board.found(), ['throttled: cpufreq-cpu4: too hot, the clock is lowered (step 3)']);
  cool('thermal-cpufreq-1', '1');
  assert.equal(await board.found(), ['throttled: thermal-cpufreq-1: too hot, the clock is lowered (step 1)']);
});

test('x86: a throttle count that rises between two looks', async () => {
  const board = new Board();
  board.cores([4, 5], { 'thermal_throttle/core_throttle_count': '7' });
  const before = await readMachine([4, 5], board.sys);
  assert.equal(findings(before, false, before), []);
  board.core(5, { 'thermal_throttle/core_throttle_count': '8' });
  const now = await readMachine([4, 5], board.sys);
  assert.equal(
    findings(now, false, before).map(({ text }) => text),
    ['CPU 5: too hot, throttled'],
  );
  assert.equal(findings(now), [], 'a count of long ago says nothing of now');
});

test('AMD has its temperature in a chip', async () => {
  const board = new Board();
  board.write('class/hwmon/hwmon0/name', 'nvme');
  board.write('class/hwmon/hwmon0/temp1_input', '30000');
  board.write('class/hwmon/hwmon1/name', 'k10temp');
  board.write('class/hwmon/hwmon1/temp1_input', '61500');
  assert.equal((await readMachine([0], board.sys)).temperatures, [{ zone: 'k10temp', celsius: 61.5 }]);
});

test.run();
