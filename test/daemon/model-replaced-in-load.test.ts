/** Files that come to a model's path while it is being loaded. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SpikedError } from '../../client/protocol/index.js';
import { ModelFiles } from '../../daemon/models/files.js';
import { ModelRegistry } from '../../daemon/models/registry.js';
import { addon, openModelTokenizer, type Tokenizer } from '../../native/host/index.js';
import { assert, suite, tempDir } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';

const test = suite('model replaced in load');
const folder = tempDir();
const path = join(folder, 'model.gguf');
const engine = addon().openEngine({ threads: 1 });
let old: string;
let replacement: string;

test.before(async () => {
  // Only one of the two has a tokenizer, so that what belongs together shows.
  old = await goldenModel(smallCase, { name: 'old' });
  replacement = await goldenModel('f_silent_positions', { name: 'replacement', tokenizer: true });
});
test.beforeEach(() => put(old));
test.after(() => engine.close());

function put(file: string): void {
  copyFileSync(file, `${path}.new`);
  renameSync(`${path}.new`, path);
}

/** @param meanwhile  runs once the weights are mapped, before the tokenizer is read */
async function registry(meanwhile: () => Promise<void> | void): Promise<ModelRegistry> {
  const open = async (file: string): Promise<Tokenizer | null> => {
    await meanwhile();
    return openModelTokenizer(file);
  };
  return new ModelRegistry(
    engine,
    await ModelFiles.open([path], 'models'),
    'model',
    undefined,
    open,
    () => undefined,
  );
}

test('weights and tokenizer are always those of one file', async () => {
  for (const [first, second] of [
    [old, replacement],
    [replacement, old],
  ] as const) {
    put(first);
    let opened = 0;
    const models = await registry(() => {
      if (opened++ === 0) put(second);
    });
    const { native, tokenizer } = await models.load('model');
    assert.is(opened, 2);
    assert.is(tokenizer !== null, second === replacement);
    assert.is(native.info.tokenizer.sizeBytes > 0, second === replacement);
    assert.is(await models.load('model'), await models.load(path), 'what is there is what was loaded');
    assert.is(opened, 2);
    await models.close();
  }
});

test('a load asked for after another file came does not answer with the one before it', async () => {
  let later: Promise<unknown> | undefined;
  const models = await registry(async () => {
    if (later) return;
    put(replacement);
    later = Promise.all([models.load('model'), models.load('model')]);
    // They look at the file while this load goes on.
    await sleep(100);
  });
  await models.load('model');
  const [one, two] = (await later) as Awaited<ReturnType<typeof models.load>>[];
  assert.ok(one?.tokenizer);
  assert.is(one, two);
  assert.is(models.get('model'), one);
  await models.close();
});

test('files that never stop coming end the load with an error; what was loaded before stays', async () => {
  let opened = 0;
  const restless = await registry(() => {
    if (opened++ > 0) put(opened % 2 === 0 ? replacement : old);
  });
  const before = await restless.load('model');
  put(replacement);
  const error: unknown = await restless.load('model').catch((thrown: unknown) => thrown);
  assert.instance(error, SpikedError);
  assert.is((error as SpikedError).code, 'ERR_MODEL_FILE_CHANGED');
  assert.match((error as SpikedError).message, /model\.gguf: expected one file from the beginning/);
  assert.is(opened, 4);
  assert.is(restless.get('model'), before);
  await restless.close();
});

test('a pipe in its place is refused, not waited for; what was loaded before stays', async () => {
  const models = await registry(() => undefined);
  const before = await models.load('model');
  rmSync(path);
  execFileSync('mkfifo', [path]);
  const error: unknown = await models.load('model').catch((thrown: unknown) => thrown);
  rmSync(path);
  assert.is((error as SpikedError).code, 'ERR_FILE_IO');
  assert.match((error as SpikedError).message, /model\.gguf: expected a regular file/);
  assert.is(models.get('model'), before);
  await models.close();
});

test('a load that ends after the models were closed leaves nothing in memory', async () => {
  const before = engine.memory().weightsBytes;
  const models = await registry(() => models.close());
  const error = await models.load('model').catch((e: unknown) => e);
  assert.is((error as SpikedError).code, 'ERR_SHUTTING_DOWN');
  assert.is(engine.memory().weightsBytes, before);
});

test.run();
