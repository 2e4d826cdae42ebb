import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openTrace } from '../../../power/trace/reader.js';
import { failure, json, program, spikectl } from '../../ctl/helpers/spikectl.js';
import { collect } from '../helpers/traces.js';
import { assert, root, run, suite, tempDir } from '../../tools/suite.js';

/** `energy record` and `energy doctor` on a sensor of the kernel: the same files, in a folder of ours. */
const test = suite('energy record, energy doctor: a kernel sensor');
const base = tempDir();

function sensor(name: string, milliamperes = 1000): string {
  const folder = join(base, name);
  mkdirSync(folder, { recursive: true });
  const put = (file: string, value: string): void => writeFileSync(join(folder, file), `${value}\n`);
  put('name', 'powerz');
  put('in0_input', '5000');
  put('curr1_input', String(milliamperes));
  return folder;
}
const address = (folder: string): string => `hwmon:${folder}?update_ms=20`;

test('record for a while: a whole trace, and what was in it', async () => {
  const dir = join(base, 'trace-a');
  const result = await json(['energy', 'record', address(sensor('a')), '-o', dir, '--seconds', '0.6']);
  const read = await openTrace(dir);
  const samples = await collect(read.samples());
  assert.ok(samples.length > 5);
  assert.is(result['samples'], samples.length);
  assert.is(result['written'], samples.length);
  assert.is(result['ended'], 'time');
  assert.is(result['least_watts'], 5);
  assert.is(result['suspended'], false);
  assert.ok(samples.every(({ watts, volts, amps }) => watts === 5 && volts === 5 && amps === 1));
  const { anchor, end } = read.header;
  assert.ok(anchor && end && samples.every(({ tNs }) => tNs >= anchor.monotonicNs && tNs <= end.monotonicNs));
});

test('a folder that holds a trace is refused before the meter is touched', async () => {
  await failure(
    ['energy', 'record', address(sensor('a')), '-o', join(base, 'trace-a'), '--seconds', '1'],
    1,
    'ERR_INVALID_ARGUMENT',
  );
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Records until there are samples, sends the signal, and waits for the end. */
async function recordUntil(dir: string, args: string[], signal: NodeJS.Signals): Promise<Ended> {
  const child = spawn(process.execPath, [program, 'energy', 'record', ...args, '-o', dir, '--json'], {
    cwd: root,
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const end = new Promise<number | null>((resolve) => child.once('close', resolve));
  const lines = (): number => {
    try {
      return readFileSync(join(dir, 'samples.csv'), 'latin1').split('\n').length;
    } catch {
      return 0;
    }
  };
  for (let tries = 0; lines() < 5 && child.exitCode === null && tries < 3000; tries++) await sleep(10);
  child.kill(signal);
  return { code: await end, stdout, stderr };
}

test('Ctrl-C is the regular end without --seconds, an interruption with them; the trace is whole both times', async () => {
  for (const [name, args, code] of [
    ['regular', [], 0],
    ['early', ['--seconds', '600'], 130],
  ] as const) {
    const dir = join(base, `trace-${name}`);
    const ended = await recordUntil(dir, [address(sensor(name)), ...args], 'SIGINT');
    assert.is(ended.code, code, ended.stderr);
    const result = JSON.parse(ended.stdout) as Record<string, unknown>;
    assert.is(result['ended'], 'interrupted');
    const read = await openTrace(dir);
    assert.ok(read.header.end, 'closed');
    assert.is((await collect(read.samples())).length, result['written']);
  }
});

test('kill -9: what was written is a trace, without an end', async () => {
  const dir = join(base, 'trace-killed');
  const { code } = await recordUntil(dir, [address(sensor('killed'))], 'SIGKILL');
  assert.is(code, null);
  const read = await openTrace(dir);
  assert.is(read.header.end, undefined);
  assert.ok((await collect(read.samples())).length >= 3);
});

test('a limit on the size of files ends the recording with status 1 and the samples so far', async () => {
  const dir = join(base, 'trace-full');
  const ended = await run(
    'sh',
    [
      '-c',
      'ulimit -f 4; exec "$@"',
      'sh',
      process.execPath,
      program,
      'energy',
      'record',
      `hwmon:${sensor('full')}?update_ms=4`,
      '-o',
      dir,
      '--json',
      '--seconds',
      '60',
    ],
    { timeoutMs: 50_000 },
  );
  assert.is(ended.code, 1, ended.stderr);
  assert.match(
    ended.stderr,
    /^spikectl: ERR_FILE_IO: .*: expected to write the trace, found .*samples are kept$/m,
  );
  assert.is((JSON.parse(ended.stdout) as Record<string, unknown>)['ended'], 'failed');
  assert.ok((await collect((await openTrace(dir)).samples())).length > 20);
});

test('doctor: every check, figures in JSON, plain lines for people', async () => {
  const folder = sensor('doctor');
  const report = (await json(['energy', 'doctor', address(folder), '--seconds', '1'])) as {
    failed: number;
    checks: { name: string; status: string }[];
    measured: Record<string, unknown>;
  };
  assert.is(report.failed, 0);
  const names = report.checks.map(({ name }) => name);
  for (const name of [
    'answers',
    'identity',
    'samples',
    'update rate',
    'step',
    'noise',
    'units',
    'trims',
    'blocks',
    'reader',
  ])
    assert.ok(names.includes(name), name);
  assert.is(report.measured['mean_watts'], 5);
  assert.is(report.measured['trim_s'], 2);
  const { stdout } = await spikectl(['energy', 'doctor', address(folder), '--seconds', '0.3']);
  for (const row of stdout.trimEnd().split('\n')) assert.match(row, /^(ok|warn|fail) +[a-z]/);
});

test.run();
