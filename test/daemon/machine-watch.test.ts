/** What the daemon says of cores that are held back: once in the log, as long as it holds elsewhere. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../daemon/log.js';
import { MachineWatch } from '../../daemon/machine/watch.js';
import { assert, suite, tempDir } from '../tools/suite.js';

const test = suite('machine watch');

function setup(cacheMs: number) {
  const sys = tempDir();
  const folder = join(sys, 'devices/system/cpu/cpu0/cpufreq');
  mkdirSync(folder, { recursive: true });
  const write = (file: string, text: string): void => {
    writeFileSync(join(folder, file), text);
  };
  write('scaling_governor', 'ondemand');
  write('cpuinfo_min_freq', '408000');
  write('cpuinfo_max_freq', '2256000');
  write('scaling_cur_freq', '408000');
  const warnings: string[] = [];
  const log = {
    warn: ({ cores, fix }: { cores: string; fix: string }) => warnings.push(`${cores}; ${fix}`),
  } as unknown as Logger;
  const state = { busy: false };
  const watch = new MachineWatch({ cpus: [0], log, busy: () => state.busy, cacheMs, everyMs: 20, sys });
  const kinds = (): string[] => watch.found.map(({ kind }) => kind);
  return { watch, write, warnings, state, kinds };
}

test('a governor that holds the clock down is told once, with its remedy, and forgotten when it is gone', async () => {
  const { watch, write, warnings, kinds } = setup(0);
  write('scaling_governor', 'powersave');
  await watch.read();
  await watch.read();
  assert.equal(kinds(), ['governor']);
  assert.is(warnings.length, 1);
  assert.match(warnings[0] ?? '', /CPU 0: governor powersave .*; .*performance/);
  write('scaling_governor', 'performance');
  await watch.read();
  assert.equal(kinds(), []);
  watch.stop();
});

test('a low clock counts at the second look of two that find the engine at work', async () => {
  const { watch, state, kinds } = setup(0);
  await watch.read();
  state.busy = true;
  await watch.read();
  assert.equal(kinds(), [], 'the work may have begun just now');
  await watch.read();
  assert.equal(kinds(), ['clock_low']);
  watch.stop();
});

test('a reading is kept for a while', async () => {
  const { watch, write } = setup(60_000);
  const first = await watch.read();
  write('scaling_cur_freq', '2256000');
  assert.is(await watch.read(), first);
  watch.stop();
});

test('looks by itself while the engine works, and once more after it', async () => {
  const { watch, write, warnings, state, kinds } = setup(0);
  state.busy = true;
  const until = async (holds: () => boolean): Promise<void> => {
    const deadline = performance.now() + 10_000;
    while (!holds()) {
      assert.ok(performance.now() < deadline, 'nobody looked');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  await until(() => warnings.length === 1);
  assert.equal(kinds(), ['clock_low']);
  write('scaling_cur_freq', '2256000');
  state.busy = false;
  await until(() => watch.found.length === 0);
  watch.stop();
});

test.run();
