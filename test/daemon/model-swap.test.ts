/** A model that is replaced or unloaded while it is used: whoever began with it finishes with it. */
import { copyFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Client, SpikedError } from '../../client/index.js';
import { assert, suite, tempDir } from '../tools/suite.js';
import { goldenModel, greedyCases, smallCase } from './helpers/models.js';
import { DaemonProcess } from './helpers/process.js';

const test = suite('model swap');
const folder = tempDir();
const path = join(folder, 'model.gguf');
const [reference] = greedyCases(smallCase);
const prompt = reference?.prompt ?? [];
let old: string;
let replacement: string;
let daemon: DaemonProcess;
let client: Client;

test.before(async () => {
  old = await goldenModel(smallCase, { name: 'old' });
  replacement = await goldenModel('f_silent_positions', { name: 'replacement' });
  copyFileSync(old, path);
  daemon = await DaemonProcess.start(['--model', path, '--context', '1000000', '--max-tokens', '1000000']);
  client = await daemon.client();
});
test.after(async () => {
  await client.close();
  assert.is((await daemon.stop()).code, 0, daemon.stderr);
});

/** As one should: a new file under the old name. */
function put(file: string): void {
  copyFileSync(file, `${path}.new`);
  renameSync(`${path}.new`, path);
}

const greedy = { temperature: 0, ignore_eos: true };

async function ask(): Promise<number[]> {
  return (await client.generate({ tokens: prompt, ...greedy, max_tokens: 8 }).result).tokens;
}

async function modelBytes(): Promise<number> {
  return (await client.serverMemory()).weights_bytes;
}

async function settled(look: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if (await look()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('expected it to settle');
}

test('requests and sessions on the old file finish with it; new ones get the new', async () => {
  const before = await ask();
  const oldBytes = await modelBytes();
  assert.equal(before, reference?.greedy.slice(0, 8));
  const session = await client.openSession();
  await session.append(prompt);
  const running = client.generate({ tokens: prompt, ...greedy, max_tokens: 1_000_000 });
  await running[Symbol.asyncIterator]().next();
  put(replacement);
  assert.equal(await ask(), before, 'a file alone changes nothing');
  const info = (await client.loadModel('model')).info;
  const after = await ask();
  assert.not.equal(after, before);
  assert.is(await modelBytes(), oldBytes + info.file_size_bytes, 'both are in memory');
  assert.equal((await session.generate({ ...greedy, max_tokens: 8 }).result).tokens, before);
  const { data_sha256 } = (await client.loadModel(path)).info;
  assert.is(data_sha256, info.data_sha256, 'loaded once');
  await running.cancel();
  const { tokens } = await running.result;
  assert.equal(tokens.slice(0, 8), before.slice(0, tokens.length));
  assert.is(await modelBytes(), oldBytes + info.file_size_bytes, 'the session is still there');
  await session.close();
  await settled(async () => (await modelBytes()) === info.file_size_bytes);
  put(old);
  await client.loadModel('model');
  assert.equal(await ask(), before);
  assert.is(await modelBytes(), oldBytes);
});

test('unload when idle: unknown at once, gone after the last that uses it', async () => {
  const running = client.generate({ tokens: prompt, ...greedy, max_tokens: 1_000_000 });
  await running[Symbol.asyncIterator]().next();
  assert.equal(await client.unloadModel('model', { when_idle: true }), { name: 'model', closed: false });
  const error = await ask().then(
    () => null,
    (thrown: unknown) => thrown as SpikedError,
  );
  assert.is(error?.code, 'ERR_MODEL_NOT_FOUND');
  assert.ok((await modelBytes()) > 0);
  await client.loadModel('model');
  assert.equal(await ask(), reference?.greedy.slice(0, 8), 'loaded again beside the old one');
  await running.cancel();
  assert.is((await running.result).stop_reason, 'cancelled');
  assert.equal(await client.unloadModel('model', { when_idle: true }), { name: 'model', closed: true });
  await settled(async () => (await modelBytes()) === 0);
});

test.run();
