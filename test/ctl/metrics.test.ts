import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseMetrics } from '../../client/ctl/metrics/parse.js';
import { FakeDaemon, send } from '../client/fake-daemon.js';
import { DaemonProcess } from '../daemon/helpers/process.js';
import { assert, run, suite, tempDir } from '../tools/suite.js';
import { synthModel } from './helpers/models.js';
import { failure, output, program } from './helpers/spikectl.js';

const test = suite('spikectl metrics');
let daemon: DaemonProcess;

test.before(async () => {
  daemon = await DaemonProcess.start(['--model', await synthModel('metrics')]);
});
test.after(async () => {
  await daemon.stop();
});

test('prints what the daemon says', async () => {
  const text = await output(['metrics', '--socket', daemon.path]);
  assert.match(text, /^# HELP spiked_build_info /);
  assert.ok(parseMetrics(text).some(({ name, value }) => name === 'spiked_models_loaded' && value === 1));
});

test('--textfile replaces the file, readable for everybody, and leaves nothing else there', async () => {
  const folder = tempDir();
  const path = join(folder, 'spiked.prom');
  for (let round = 0; round < 2; round++) {
    const { code, stderr } = await run('/bin/sh', [
      '-c',
      'umask 077; exec "$@"',
      'sh',
      process.execPath,
      program,
      'metrics',
      '--socket',
      daemon.path,
      '--textfile',
      path,
    ]);
    assert.is(code, 0, stderr);
    assert.is(statSync(path).mode & 0o777, 0o644);
    assert.ok(parseMetrics(readFileSync(path, 'utf8')).length > 20);
  }
  assert.equal(readdirSync(folder), ['spiked.prom']);
});

test('a file that cannot be written is an error and leaves nothing', async () => {
  const folder = tempDir();
  mkdirSync(join(folder, 'taken'));
  await failure(['metrics', '--socket', daemon.path, '--textfile', join(folder, 'taken')], 1, 'ERR_FILE_IO');
  assert.equal(readdirSync(folder), ['taken']);
  await failure(['metrics', '--socket', join(folder, 'none.sock')], 4, 'ERR_DAEMON_NOT_RUNNING');
});

test('status shows what holds the cores back, as server.info has it', async () => {
  const client = await daemon.client();
  const [info, memory] = [await client.serverInfo(), await client.serverMemory()];
  await client.close();
  const held = { ...info, warnings: ['CPU 0: governor powersave holds the clock down; change it'] };
  const fake = new FakeDaemon(([, id, method], socket) => {
    send(socket, 1, id, null, method === 'server.info' ? held : memory);
  });
  await (await fake.client()).close();
  assert.match(await output(['status', '--socket', fake.path]), /^warning +CPU 0: governor powersave/m);
  fake.close();
});

test('the reader refuses what is no sample', () => {
  assert.equal(parseMetrics('a{b="c\\"\\\\\\n,d",e=""} 1.5\n# x\n\nf +Inf\n'), [
    { name: 'a', labels: { b: 'c"\\\n,d', e: '' }, value: 1.5 },
    { name: 'f', labels: {}, value: Infinity },
  ]);
  for (const bad of ['a', 'a x', 'a{b} 1', 'a{b="c} 1', '1a 2', 'a NaN'])
    assert.throws(() => parseMetrics(bad), /expected a sample/, bad);
});

test.run();
