import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkCgroup, readCgroup } from '../../client/ctl/doctor/cgroup.js';
import type { Check } from '../../client/ctl/doctor/check.js';
import { checkCores } from '../../client/ctl/doctor/cores.js';
import { checkMemory } from '../../client/ctl/doctor/models.js';
import { checkSerial } from '../../client/ctl/doctor/serial.js';
import type { CoreReading } from '../../native/host/index.js';
import { DaemonProcess, socketPath } from '../daemon/helpers/process.js';
import { assert, suite, tempDir } from '../tools/suite.js';
import { synthModel } from './helpers/models.js';
import { noPlanting, plantedIsa, plantKernel } from './helpers/planted-kernel.js';
import { spikectl } from './helpers/spikectl.js';

const test = suite('spikectl doctor');
let model = '';

test.before(async () => {
  model = await synthModel('doctor');
});

interface Report {
  failed: number;
  warned: number;
  checks: Check[];
}

async function doctor(args: string[], code: number, env: NodeJS.ProcessEnv = {}): Promise<Report> {
  const { code: found, stdout, stderr } = await spikectl(['doctor', '--json', ...args], { env });
  assert.is(found, code, stdout + stderr);
  if (code !== 0) assert.match(stderr, /^spikectl: ERR_CHECK_FAILED: doctor: [^\n]+\n$/);
  const report = JSON.parse(stdout) as Report;
  assert.is(report.failed, report.checks.filter(({ status }) => status === 'fail').length);
  assert.is(report.warned, report.checks.filter(({ status }) => status === 'warn').length);
  for (const { name, status, fix } of report.checks) assert.is(fix === undefined, status === 'ok', name);
  return report;
}

const about = ({ checks }: Report, name: string): Check[] => checks.filter((check) => check.name === name);
const line = ({ status, text }: Check | undefined = { name: '', status: 'ok', text: '' }): string =>
  `${status}: ${text}`;

test('a running daemon and sound models: nothing fails, every check is there', async () => {
  const daemon = await DaemonProcess.start(['--model', model]);
  const report = await doctor(['--socket', daemon.path], 0);
  await daemon.stop();
  const names = ['build', 'package', 'instructions', 'kernels', 'model', 'socket', 'daemon', 'service'];
  for (const name of [...names, 'governor', 'heat', 'memory', 'cgroup', 'serial'])
    assert.ok(about(report, name).length > 0, name);
  assert.match(line(about(report, 'daemon')[0]), new RegExp(`^ok: pid ${String(daemon.pid)}, version`));
  assert.match(line(about(report, 'socket')[0]), /mode 0660$/);
  const models = about(report, 'model').map(line).join('\n');
  assert.match(models, /^ok: .*models\/default\.gguf: .* as declared$/m, 'the bundled one');
  assert.ok(models.includes(model), "the daemon's");
  assert.match(line(about(report, 'kernels')[0]), /^ok: \w+: \d+ kernels/);
});

test('for people: one line a check, with the remedy', async () => {
  const { code, stdout } = await spikectl(['doctor']);
  assert.is(code, 0);
  const lines = stdout.trimEnd().split('\n');
  for (const row of lines) assert.match(row, /^(ok|warn|fail) +[a-z]+ +\S/);
  assert.match(stdout, /^warn +socket +.*no daemon.*; fix: start one/m);
  assert.ok(lines.filter((row) => row.startsWith('warn')).every((row) => row.includes('; fix: ')));
});

test('a damaged model, and one that is not there', async () => {
  const damaged = join(tempDir(), 'damaged.gguf');
  copyFileSync(model, damaged);
  const bytes = readFileSync(damaged);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  writeFileSync(damaged, bytes);
  const absent = join(dirname(damaged), 'absent.gguf');
  const report = await doctor(['--model', damaged, '--model', absent], 3);
  const failed = about(report, 'model').filter(({ status }) => status === 'fail');
  assert.is(failed.length, 2);
  assert.match(
    failed[0]?.text ?? '',
    /damaged\.gguf: data: expected SHA-256 [0-9a-f]{64} as declared, found/,
  );
  assert.match(failed[1]?.text ?? '', /absent\.gguf/);
});

test('a socket without its daemon, a file in its place, a path that is too long', async () => {
  const daemon = await DaemonProcess.start(['--model', model]);
  await daemon.stop('SIGKILL');
  const stale = await doctor(['--socket', daemon.path], 3);
  assert.match(line(about(stale, 'daemon')[0]), /^fail: .*nobody answers.*is gone/);
  const path = socketPath();
  writeFileSync(path, '');
  assert.match(
    line(about(await doctor(['--socket', path], 3), 'socket')[0]),
    /^fail: .*another kind of file/,
  );
  const long = await doctor(['--socket', `/tmp/${'x'.repeat(120)}`], 3);
  assert.match(line(about(long, 'socket')[0]), /^fail: .*at most 107 bytes/);
});

test('a daemon that does not let this user in', async () => {
  const daemon = await DaemonProcess.start(['--model', model, '--allow-uid', '65000']);
  const report = await doctor(['--socket', daemon.path], 3);
  await daemon.stop();
  const [found] = about(report, 'daemon');
  assert.ok(found);
  assert.is(found.status, 'fail');
  assert.match(found.fix ?? '', /allow_uids/);
});

test.needs(noPlanting(), 'a kernel that does nothing is named', async () => {
  const report = await doctor([], 3, { SPIKED_ADDON: await plantKernel('scale_sums') });
  const found = about(report, 'kernels').find(({ text }) => text.startsWith(`${plantedIsa}: `));
  assert.match(line(found), /^fail: \w+: wrong answers from scale_sums \(.+\)$/);
  assert.match(found?.fix ?? '', /SPIKED_FORCE_ISA=scalar/);
});

test('without an addon it says so and goes on', async () => {
  const report = await doctor([], 3, { SPIKED_ADDON: '/nowhere/spiked.node' });
  assert.match(line(about(report, 'build')[0]), /^fail: \/nowhere\/spiked\.node: expected the native addon/);
  assert.ok(about(report, 'memory').length === 1);
});

test('a lesser instruction set than the CPU has', async () => {
  const report = await doctor([], 0, { SPIKED_FORCE_ISA: 'scalar' });
  assert.match(line(about(report, 'instructions')[0]), /^warn: scalar, although this CPU has /);
});

const core: CoreReading = {
  cpu: 4,
  governor: 'ondemand',
  driver: 'cpufreq-dt',
  clockHz: 4.08e8,
  minHz: 4.08e8,
  maxHz: 2.256e9,
  limitHz: 2.256e9,
  throttleEvents: undefined,
  shares: '4 5',
};
const hot = { device: 'cpufreq-cpu4', state: 2 };
const soc = { zone: 'soc-thermal', celsius: 91.4 };

test('governor and heat, on a made-up board', () => {
  const texts = (...reading: Parameters<typeof checkCores>): string[] => checkCores(...reading).map(line);
  assert.equal(texts({ cores: [core], temperatures: [soc], cooling: [] }), [
    'ok: CPUs 4: ondemand, no limit below what they can',
    'ok: 91.4 °C (soc-thermal), not throttled',
  ]);
  const powersave = { ...core, governor: 'powersave', limitHz: 1.8e9 };
  assert.equal(texts({ cores: [powersave], temperatures: [soc], cooling: [hot] }), [
    'warn: CPU 4: governor powersave holds the clock down (they can 2256 MHz)',
    'warn: CPU 4: the clock may reach 1800 MHz of 2256 MHz',
    'warn: cpufreq-cpu4: too hot, the clock is lowered (step 2)',
  ]);
});

test('memory that is enough, nearly not, not', () => {
  const meminfo = 'MemTotal:  4000000 kB\nMemAvailable:    1024000 kB\n';
  const status = (mebibytes: number): string => checkMemory(mebibytes * 2 ** 20, meminfo).status;
  assert.equal([100, 900, 1001].map(status), ['ok', 'warn', 'fail']);
});

test('limits of a cgroup and of those above it, the tightest counts', async () => {
  const root = tempDir();
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${text}\n`);
  };
  assert.is(await readCgroup(7, root), undefined);
  write('proc/7/cgroup', '0::/system.slice/spiked.service');
  write('sys/fs/cgroup/cgroup.controllers', 'cpu memory');
  write('sys/fs/cgroup/system.slice/memory.max', '536870912');
  write('sys/fs/cgroup/system.slice/spiked.service/memory.max', 'max');
  write('sys/fs/cgroup/system.slice/spiked.service/cpu.max', '150000 100000');
  const limits = await readCgroup(7, root);
  assert.equal(limits, { path: '/system.slice/spiked.service', memoryBytes: 2 ** 29, cpus: 1.5 });
  assert.equal(checkCgroup(limits, 2 ** 28, 1).map(line), [
    'ok: /system.slice/spiked.service: memory 512 MiB, 1.50 CPUs',
  ]);
  assert.equal(checkCgroup(limits, 2 ** 30, 4).map(line), [
    'warn: /system.slice/spiked.service: memory.max of 512 MiB for models of 1024 MiB',
    'warn: /system.slice/spiked.service: cpu.max of 1.50 CPUs for 4 threads',
  ]);
});

test('a port that another process has open is named with it; the daemon may have it', async () => {
  const folder = tempDir();
  const port = { path: join(folder, 'ttyUSB0'), maker: 'QinHeng' };
  writeFileSync(port.path, '');
  mkdirSync(join(folder, 'proc/123/fd'), { recursive: true });
  symlinkSync(port.path, join(folder, 'proc/123/fd/5'));
  writeFileSync(join(folder, 'proc/123/comm'), 'ModemManager\n');
  const check = async (daemonPid: number | undefined): Promise<string> =>
    line((await checkSerial([port], daemonPid, join(folder, 'proc')))[0]);
  assert.match(await check(undefined), /^warn: .*ttyUSB0 \(QinHeng\): open in ModemManager \(pid 123\)/);
  assert.match(await check(123), /^ok: .*free, or the daemon's$/);
  assert.match(line((await checkSerial([], undefined))[0]), /^ok: no port/);
});

test.run();
