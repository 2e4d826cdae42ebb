/** The memory budget, and what server.memory says. */
import { copyFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client, Generation, SpikedError } from '../../client/index.js';
import { encode } from '../tensor/gguf-draft.js';
import { tinyModel } from '../tensor/tiny-model.js';
import { assert, missing, run, suite, tempDir } from '../tools/suite.js';
import { daemonProgram, DaemonProcess, socketPath } from './helpers/process.js';

const test = suite('memory');
const folder = tempDir();
/** Its sessions are promised 41 MB each, of which a short one touches little. */
const wide = join(folder, 'wide.gguf');
const huge = join(folder, 'huge.gguf');
const endless = { tokens: [1], max_tokens: 4000, ignore_eos: true };
/** Room for Node and some sessions, not for four. */
const budget = 190;
let daemon: DaemonProcess;
let client: Client;

test.before(async () => {
  writeFileSync(
    wide,
    encode(tinyModel({ window: 20_000, dim: 64, layers: 4, tokenizerSize: 90, context: 5000 })),
  );
  copyFileSync(wide, huge);
  truncateSync(huge, 2 ** 30); // a hole: no disk is used
  daemon = await DaemonProcess.start(['--model', wide, '--model', folder, '--ram-budget', `${budget}M`]);
  client = await daemon.client();
});
test.after(async () => {
  await client.close();
  assert.is((await daemon.stop()).code, 0, daemon.stderr);
});

async function refused(call: Promise<unknown>): Promise<void> {
  const error = (await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )) as SpikedError | undefined;
  assert.is(error?.code, 'ERR_RAM_BUDGET', error?.message);
  assert.match(
    error?.message ?? '',
    new RegExp(`needs \\d+ bytes: .*, found \\d+ of ${budget * 2 ** 20} bytes in use`),
  );
}

test('an absurd budget fails closed at once', async () => {
  const absurd = DaemonProcess.spawn(['--model', wide, '--ram-budget', '64']);
  assert.is((await absurd.ended).code, 3);
  assert.match(absurd.stderr, /ERR_RAM_BUDGET: .*needs \d+ bytes: .*, found 0 of 64 bytes in use/);
  for (const wrong of ['0', '', '12.5M', '1X', '-1', '1e9']) {
    const ended = DaemonProcess.spawn(['--model', wide, `--ram-budget=${wrong}`]);
    assert.is((await ended.ended).code, 2, wrong);
  }
});

test('a model too large is refused, and nothing changes', async () => {
  const before = await client.serverMemory();
  await refused(client.loadModel('huge'));
  const after = await client.serverMemory();
  assert.is(after.reserved_bytes, before.reserved_bytes);
  assert.ok(after.rss_bytes - before.rss_bytes < 20e6);
});

test('generations that would cross it are refused when their turn comes; the others go on', async () => {
  const before = await client.serverMemory();
  const all = Array.from({ length: 4 }, (): Generation => client.generate(endless));
  const seen = await Promise.allSettled(all.map((generation) => generation[Symbol.asyncIterator]().next()));
  const going = all.filter((_, i) => seen[i]?.status === 'fulfilled');
  assert.ok(going.length > 0 && going.length < all.length, `${going.length} of 4 go on`);
  for (const generation of all) if (!going.includes(generation)) await refused(generation.result);
  const memory = await client.serverMemory();
  assert.ok(memory.session_bytes >= going.length * 40e6);
  assert.ok(memory.reserved_bytes <= budget * 2 ** 20);
  for (const generation of going) await generation.cancel();
  await Promise.all(going.map(({ result }) => result));
  assert.is((await client.generate({ ...endless, max_tokens: 3 }).result).generated_tokens, 3);
  assert.is((await client.serverMemory()).reserved_bytes, before.reserved_bytes);
});

test('a generation after cancelled ones waits for their memory instead of being refused', async () => {
  for (let i = 0; i < 20; ++i) {
    const all = Array.from({ length: 2 }, () => client.generate(endless));
    await Promise.all(all.map((generation) => generation[Symbol.asyncIterator]().next()));
    await Promise.all(all.map((generation) => generation.cancel()));
    const next = Array.from({ length: 2 }, () => client.generate({ ...endless, max_tokens: 3 }).result);
    for (const { generated_tokens: n } of await Promise.all(next)) assert.is(n, 3);
    await Promise.all(all.map(({ result }) => result));
  }
});

test('server.memory adds up, and every figure is a finite number', async () => {
  const m = await client.serverMemory();
  for (const [name, value] of Object.entries(m))
    assert.ok(typeof value === 'bigint' || Number.isSafeInteger(value), `${name}: ${String(value)}`);
  const parts = [
    m.base_bytes,
    m.weights_bytes,
    m.copied_bytes,
    m.session_bytes,
    m.scratch_bytes,
    m.prefix_cache_bytes,
  ];
  assert.is(
    m.reserved_bytes,
    parts.reduce((sum, bytes) => sum + bytes, 0),
  );
  assert.is(m.budget_bytes, budget * 2 ** 20);
  assert.is(m.weights_bytes, statSync(wide).size);
  const pages = Math.ceil(statSync(wide).size / 4096) * 4096;
  assert.ok(m.weights_resident_bytes > 0 && m.weights_resident_bytes <= pages);
  assert.is(m.weights_locked_bytes, 0);
});

const root = process.getuid?.() === 0;

test.needs(root ? undefined : 'root', '--mlock locks the weights', async () => {
  const locked = await DaemonProcess.start(['--model', wide, '--mlock']);
  const own = await locked.client();
  const { weights_bytes: size, weights_locked_bytes: bytes } = await own.serverMemory();
  assert.is(bytes, Math.ceil(size / 4096) * 4096);
  assert.is((await own.serverInfo()).loading, 'locked');
  await own.close();
  await locked.stop();
});

test.needs(
  root ? missing('setpriv') : undefined,
  '--mlock above RLIMIT_MEMLOCK names need, limit and remedy',
  async () => {
    const script = `ulimit -l 8; exec "$@"`;
    const daemonArgs = [
      process.execPath,
      daemonProgram,
      '--socket',
      socketPath(),
      '--model',
      wide,
      '--mlock',
    ];
    const shell = ['sh', '-c', script, 'sh', ...daemonArgs];
    const [program = '', ...args] = root ? ['setpriv', '--bounding-set', '-ipc_lock', ...shell] : shell;
    const { code, stderr } = await run(program, args, { timeoutMs: 60_000 });
    assert.is(code, 3, stderr);
    assert.match(
      stderr,
      /ERR_NO_MEMORY: .*wide\.gguf: locking it in memory: expected leave to lock \d+ bytes, found 8192 \(RLIMIT_MEMLOCK: LimitMEMLOCK= in a unit/,
    );
  },
);

test.run();
