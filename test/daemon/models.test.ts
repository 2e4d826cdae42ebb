import { copyFileSync, mkdirSync, openSync, symlinkSync, writeFileSync, writeSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import type { Client, ErrorCode, SpikedError } from '../../client/index.js';
import { assert, suite, tempDir } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { DaemonProcess } from './helpers/process.js';

const test = suite('models');
const folder = tempDir();
const outside = tempDir();
const given = join(outside, 'given.gguf');
const secret = join(outside, 'secret.gguf');
let daemon: DaemonProcess;
let client: Client;

test.before(async () => {
  const model = await goldenModel(smallCase);
  for (const path of [join(folder, 'a.gguf'), join(folder, 'b.gguf'), given, secret])
    copyFileSync(model, path);
  mkdirSync(join(folder, 'deep'));
  copyFileSync(model, join(folder, 'deep', 'c.gguf'));
  writeFileSync(join(folder, 'notes.txt'), 'no model');
  writeFileSync(join(folder, 'broken.gguf'), 'GGUF, but not really');
  symlinkSync(secret, join(folder, 'way-out.gguf'));
  symlinkSync(outside, join(folder, 'way-out'));
  symlinkSync(join(folder, 'b.gguf'), join(folder, 'inside.gguf'));
  execFileSync('mkfifo', [join(folder, 'pipe.gguf')]);
  daemon = await DaemonProcess.start(['--model', given, '--model', folder, '--context', '1000000']);
  client = await daemon.client();
});
test.after(async () => {
  await client.close();
  assert.is((await daemon.stop()).code, 0, daemon.stderr);
});

async function refused(call: Promise<unknown>, code: ErrorCode): Promise<string> {
  const error = (await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )) as SpikedError | undefined;
  assert.is(error?.code, code, error?.message);
  return error?.message ?? '';
}

test('lists the files given and those of folders, by name; the first is the default and loaded', async () => {
  const models = await client.listModels();
  assert.equal(
    models.map(({ name, loaded, default: isDefault }) => [name, loaded, isDefault]),
    [
      ['a', false, false],
      ['b', false, false],
      ['broken', false, false],
      ['given', true, true],
    ],
  );
  const info = models.find(({ name }) => name === 'given')?.info;
  assert.is(info?.vocab_size, 512);
  assert.is(info?.context_limit, 1_000_000);
  assert.is(info?.max_context, 192);
  assert.is(info?.tokenizer, false);
});

test('loads by name and by path, once; unloads; what is not loaded cannot be used', async () => {
  await refused(client.generate({ tokens: [1], model: 'a' }).result, 'ERR_MODEL_NOT_FOUND');
  const all = await Promise.all([
    client.loadModel('a'),
    client.loadModel(join(folder, 'a.gguf')),
    client.loadModel('a'),
  ]);
  assert.equal(
    new Set(all.map(({ name, path }) => `${name} ${path}`)),
    new Set([`a ${join(folder, 'a.gguf')}`]),
  );
  assert.is((await client.generate({ tokens: [1], model: 'a', max_tokens: 1 }).result).model, 'a');
  assert.is((await client.loadModel(join(folder, 'deep', 'c.gguf'))).name, 'c');
  assert.is((await client.loadModel(join(folder, 'inside.gguf'))).name, 'b', 'symbolic links are resolved');
  assert.equal((await client.serverInfo()).models.sort(), ['a', 'b', 'c', 'given']);
  for (const name of ['a', 'b', 'c']) assert.equal(await client.unloadModel(name), { name, closed: true });
  await refused(client.unloadModel('a'), 'ERR_MODEL_NOT_FOUND');
  await refused(client.generate({ tokens: [1], model: 'a' }).result, 'ERR_MODEL_NOT_FOUND');
});

test('nothing outside the folders can be loaded or told apart', async () => {
  const paths = [
    secret,
    join(outside, 'not-there.gguf'),
    join(folder, '..', outside.slice(outside.lastIndexOf('/') + 1), 'secret.gguf'),
    join(folder, 'way-out.gguf'),
    join(folder, 'way-out', 'secret.gguf'),
    '/etc/passwd',
    '/',
    './a.gguf',
    `${folder}x/a.gguf`,
    `${join(folder, 'a.gguf')}\0`,
  ];
  for (const path of paths) {
    const message = await refused(client.loadModel(path), 'ERR_MODEL_FORBIDDEN');
    assert.not.match(message, /GGUF|ENOENT|no such/);
  }
  assert.is(
    (await refused(client.loadModel(secret), 'ERR_MODEL_FORBIDDEN')).replace('secret', ''),
    (await refused(client.loadModel(join(outside, 'not-there.gguf')), 'ERR_MODEL_FORBIDDEN')).replace(
      'not-there',
      '',
    ),
  );
});

test('what is inside but no model is named', async () => {
  assert.match(
    await refused(client.loadModel('nobody'), 'ERR_MODEL_NOT_FOUND'),
    /expected one of given, a, b/,
  );
  await refused(client.loadModel(join(folder, 'not-there.gguf')), 'ERR_MODEL_NOT_FOUND');
  await refused(client.loadModel(join(folder, 'pipe.gguf')), 'ERR_MODEL_NOT_FOUND');
  await refused(client.loadModel(folder), 'ERR_MODEL_FORBIDDEN');
  await refused(client.loadModel('broken'), 'ERR_MODEL_INVALID');
  await refused(client.loadModel(join(folder, 'notes.txt')), 'ERR_MODEL_INVALID');
});

test('a model in use is not unloaded', async () => {
  await client.loadModel('b');
  const generation = client.generate({ tokens: [1], model: 'b', max_tokens: 4000 });
  for await (const event of generation) {
    if (event.seq > 0) continue;
    assert.match(await refused(client.unloadModel('b'), 'ERR_MODEL_BUSY'), /model "b"/);
    await generation.cancel();
  }
  assert.is((await generation.result).stop_reason, 'cancelled');
  assert.equal(await client.unloadModel('b'), { name: 'b', closed: true });
});

test('a file that is written to after loading is told', async () => {
  await client.loadModel('a');
  const file = openSync(join(folder, 'a.gguf'), 'r+');
  writeSync(file, Buffer.of(0), 0, 1, 5000);
  closeSync(file);
  await refused(client.generate({ tokens: [1], model: 'a' }).result, 'ERR_MODEL_FILE_CHANGED');
  await client.unloadModel('a');
});

test('two files of one name are refused at the start', async () => {
  copyFileSync(secret, join(folder, 'given.gguf'));
  const daemonTwo = DaemonProcess.spawn(['--model', given, '--model', folder]);
  assert.is((await daemonTwo.ended).code, 78);
  assert.match(daemonTwo.stderr, /ERR_CONFIG_INVALID: --model: expected one file for the name "given"/);
});

test.run();
