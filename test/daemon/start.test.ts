/** startDaemon inside another program. */
import { existsSync, statSync } from 'node:fs';
import { connect, type SpikedError } from '../../client/index.js';
import { startDaemon } from '../../daemon/start.js';
import { assert, suite } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { socketPath } from './helpers/process.js';

const test = suite('startDaemon');
let model: string;
test.before(async () => {
  model = await goldenModel(smallCase);
});

const options = (path: string) => ({
  models: [model],
  socketPath: path,
  threads: 1,
  logLevel: 'silent' as const,
});

test('serves until closed; closing twice is closing once', async () => {
  const path = socketPath();
  const daemon = await startDaemon(options(path));
  assert.is(daemon.address, path);
  const client = await connect({ path });
  assert.is((await client.generate({ tokens: [1], max_tokens: 2 }).result).generated_tokens, 2);
  await Promise.all([daemon.close(), daemon.close()]);
  await client.closed;
  assert.not.ok(existsSync(path));
});

test('two in one process on two paths; the same path is in use', async () => {
  const [a, b] = [await startDaemon(options(socketPath())), await startDaemon(options(socketPath()))];
  const error = (await startDaemon(options(a.address)).catch((thrown: unknown) => thrown)) as SpikedError;
  assert.is(error.code, 'ERR_SOCKET_IN_USE');
  assert.match(error.message, new RegExp(`process ${String(process.pid)} `));
  await Promise.all([a.close(), b.close()]);
});

test('a start that is aborted leaves nothing', async () => {
  const path = socketPath();
  const abort = new AbortController();
  const work = startDaemon(options(path), abort.signal).catch((thrown: unknown) => thrown);
  abort.abort();
  assert.is(((await work) as SpikedError).code, 'ERR_CANCELLED');
  assert.not.ok(existsSync(path));
});

test('what the engine was told is what server.info says', async () => {
  const path = socketPath();
  const daemon = await startDaemon({ ...options(path), cpus: 'none', loading: 'huge_pages' });
  const client = await connect({ path });
  const { threads, cpus, loading } = await client.serverInfo();
  assert.equal({ threads, cpus, loading }, { threads: 1, cpus: 'none', loading: 'huge_pages' });
  const memory = await client.serverMemory();
  assert.is(memory.copied_bytes, statSync(options(path).models[0] ?? '').size);
  assert.is(memory.weights_bytes, 0);
  assert.is((await client.generate({ tokens: [1], max_tokens: 2 }).result).generated_tokens, 2);
  await daemon.close();
  const bad = (await startDaemon({ ...options(socketPath()), cpus: '7-4' }).catch(
    (thrown: unknown) => thrown,
  )) as SpikedError;
  assert.is(bad.code, 'ERR_INVALID_ARGUMENT');
  assert.match(bad.message, /^cpus: expected a list/);
});

test('settings are checked, each by name', async () => {
  const wrong: [object, RegExp][] = [
    [{ models: [] }, /"models": expected at least 1 items/],
    [{ loading: 'lazily' }, /"loading": expected/],
    [{ threads: 0 }, /"threads": expected a number at least 1, found 0/],
    [{ limits: { max_depth: 1000 } }, /"limits"\."max_depth": expected a number at most 64, found 1000/],
    [{ limits: { max_nothing: 1 } }, /max_nothing/],
    [{ drainMs: -1 }, /"drainMs"/],
    [{ logLevel: 'loud' }, /"logLevel"/],
    [{ nonsense: 1 }, /nonsense/],
  ];
  for (const [change, text] of wrong) {
    const error = await startDaemon({ ...options(socketPath()), ...change }).catch(
      (thrown: unknown) => thrown,
    );
    assert.is((error as SpikedError).code, 'ERR_CONFIG_INVALID', JSON.stringify(change));
    assert.match((error as SpikedError).message, text);
  }
});

test.run();
