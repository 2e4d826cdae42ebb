import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkLink } from '../../../client/ctl/energy/doctor/findings.js';
import { openTrace } from '../../../power/trace/reader.js';
import { json, program, spikectl } from '../../ctl/helpers/spikectl.js';
import { simulated, type SimulatedOptions } from '../helpers/simulated.js';
import { collect } from '../helpers/traces.js';
import { openWattsUp } from '../helpers/watts-up.js';
import { assert, suite, tempDir } from '../../tools/suite.js';

/** `energy record` and `energy doctor` through a real terminal, with a simulated PZEM at its other end. */
const test = suite('energy record, energy doctor: a serial meter');
const base = tempDir();

async function withMeter<T>(options: SimulatedOptions, work: (address: string) => Promise<T>): Promise<T> {
  const meter = simulated('pzem', { measuring: { periodMs: 500, noiseWatts: 0.2 }, ...options });
  try {
    return await work(`pzem:${meter.path}`);
  } finally {
    meter.stop();
  }
}

interface Report {
  readonly simulated: boolean;
  readonly checks: readonly { name: string; status: string; text: string }[];
  readonly measured: Record<string, unknown>;
}

test('record: samples with volts and amps, raw frames both ways, simulated all through', async () => {
  await withMeter({ watts: 10 }, async (address) => {
    const dir = join(base, 'trace');
    const result = await json(['energy', 'record', address, '-o', dir, '--seconds', '2']);
    assert.is(result['simulated'], true);
    const read = await openTrace(dir);
    assert.ok(read.header.meter.simulated);
    const [samples, frames] = [await collect(read.samples()), await collect(read.frames())];
    assert.ok(samples.length >= 3);
    assert.ok(samples.every(({ watts, volts, amps }) => (watts ?? 0) > 5 && volts !== null && amps !== null));
    for (const direction of ['sent', 'received'])
      assert.ok(frames.some((frame) => frame.direction === direction));
  });
});

test('record: Ctrl-C tells a meter that pushes to stop', async () => {
  const meter = openWattsUp();
  const dir = join(base, 'stopped');
  const args = ['energy', 'record', `wattsup:${meter.path}?baud=115200`, '-o', dir, '--json'];
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let told = '';
  child.stdout.on('data', (bytes: Buffer) => void (told += bytes.toString()));
  const ended = once(child, 'close');
  while (!meter.pushing() && child.exitCode === null) await sleep(20);
  await sleep(500);
  child.kill('SIGINT');
  assert.is((await ended)[0], 0);
  assert.ok(await meter.toldToStop(), meter.heard());
  meter.stop();
  assert.ok(Number((JSON.parse(told) as Record<string, unknown>)['written']) > 0);
});

test('doctor: no right checksum is told with the way out', async () => {
  const counts = { requests: 9, samples: 9, torn: 0, late: 0, timeouts: 0, reconnects: 0 };
  const { status, fix } = checkLink({ ...counts, frames: 0, checksumErrors: 9 });
  assert.is(status, 'fail');
  assert.match(fix ?? '', /crc=ignore/);
  assert.not.match(checkLink({ ...counts, frames: 8, checksumErrors: 1 }).fix ?? '', /crc=ignore/);
});

test('doctor: a sound meter whose updates are twice as fast as the profile says', async () => {
  await withMeter({ watts: 10, measuring: { periodMs: 250, noiseWatts: 0.2 } }, async (port) => {
    // Half of the sixteen updates are enough, and a second in which this process stood still is no fault of the line.
    const address = `${port}?update_ms=500&answer_ms=5000`;
    const report = (await json(['energy', 'doctor', address, '--seconds', '4'])) as unknown as Report;
    const status = (name: string): string | undefined =>
      report.checks.find((check) => check.name === name)?.status;
    assert.ok(report.simulated);
    for (const name of ['port', 'answers', 'identity', 'line', 'units']) assert.is(status(name), 'ok', name);
    assert.is(status('update rate'), 'warn');
    const period = Number(report.measured['update_period_s']);
    assert.ok(period > 0.2 && period < 0.33, String(period));
    assert.is(report.measured['step_watts'], 0.1);
    assert.match(String(report.checks.find(({ name }) => name === 'port')?.text), /pseudo-terminal/);
  });
});

test('doctor: nobody answers, no such port: failed checks, status 3', async () => {
  await withMeter({ faults: ['silent:after=0'] }, async (port) => {
    const address = `${port}?answer_ms=100&worst_ms=100`;
    const { code, stdout } = await spikectl(['energy', 'doctor', address, '--json', '--seconds', '1']);
    assert.is(code, 3, stdout);
    const report = JSON.parse(stdout) as Report;
    assert.equal(
      report.checks.filter(({ status }) => status === 'fail').map(({ name }) => name),
      ['answers'],
    );
  });
  const { code, stdout, stderr } = await spikectl(['energy', 'doctor', `pzem:${join(base, 'none')}`]);
  assert.is(code, 3, stderr);
  assert.match(stdout, /^fail +port +.*there is no such port/m);
});

test.run();
