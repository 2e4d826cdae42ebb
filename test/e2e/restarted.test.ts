/** kill -9 of the daemon at any point of its life, under 32 clients and an operator, with a supervisor that starts it again. */
import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { connect } from '../../client/index.js';
import { goldenModel, smallCase } from '../daemon/helpers/models.js';
import { DaemonProcess, killAll, socketPath } from '../daemon/helpers/process.js';
import { Random } from '../protocol/random-values.js';
import { assert, root, suite, tempDir } from '../tools/suite.js';
import { addTallies } from './helpers/checks.js';
import { changedSettings } from './helpers/reloader.js';
import { putFile } from './helpers/swapped-model.js';
import { Actor, pause, shortPrompts, undisturbed } from './helpers/traffic.js';

const test = suite('restarted');
const long = process.env['SPIKED_TEST_LONG'] === '1';
const lives = long ? 60 : 6;
const clients = 32;
const folder = tempDir();
const defaultPath = join(folder, 'default.gguf');
const swappedPath = join(folder, 'swapped.gguf');
const config = join(folder, 'config.json');
const settings = { models: [defaultPath, swappedPath] };
const running: DaemonProcess[] = [];
const random = new Random(47);
let sources: string[];

test.before(async () => {
  sources = await Promise.all([
    goldenModel(smallCase, { name: 'one', tokenizer: true }),
    goldenModel('f_silent_positions', { name: 'two', tokenizer: true }),
  ]);
  putFile(defaultPath, { copyOf: join(root, 'models/default.gguf') });
});
test.afterEach(() => killAll(running));

function spawn(path: string): DaemonProcess {
  const daemon = DaemonProcess.spawn(['--config', config], path);
  running.push(daemon);
  return daemon;
}

const putSwapped = (which: number): void => putFile(swappedPath, { copyOf: sources[which] ?? '' });
const putConfig = (): void => putFile(config, JSON.stringify(changedSettings(random, settings, 5000)));

/** Swaps and reloads without a pause until the daemon is gone, which may be in the middle of any of them. */
async function operate(daemon: DaemonProcess, swapped: () => void): Promise<void> {
  const client = await connect({ path: daemon.path });
  const gone = client.closed.then(() => 'gone' as const);
  const reloads = (async () => {
    while ((await Promise.race([gone, pause(random.below(20))])) !== 'gone') {
      putConfig();
      daemon.child.kill('SIGHUP');
    }
  })();
  try {
    for (;;) {
      putSwapped(random.below(2));
      putFile(defaultPath, { copyOf: defaultPath });
      await Promise.all([client.loadModel('swapped'), client.loadModel('default')]);
      swapped();
      if (random.below(3) === 0) await client.unloadModel('swapped', { when_idle: true });
    }
  } catch (error) {
    assert.is((error as { code?: string }).code, 'ERR_CONNECTION_LOST', String(error));
  }
  await reloads;
}

test(`${String(lives)} lives that end in starts, loads and reloads: each leaves the next one a path and whole files`, async () => {
  putSwapped(0);
  putConfig();
  const path = socketPath();
  let daemon = spawn(path);
  await daemon.ready();
  const client = await daemon.client();
  const expected = await undisturbed(client);
  await client.close();

  const stop = new AbortController();
  const actors = Array.from({ length: clients }, (_, i) => new Actor(path, new Random(9000 + i), expected));
  const work = actors.map((actor) => actor.run(stop.signal));
  let swaps = 0;
  let operating = Promise.resolve();
  for (let life = 0; life < lives; life++) {
    // Each fourth at its start, each fourth after a swap or more, the others at any time.
    if (life % 4 === 3) await pause(random.below(1500));
    else {
      await daemon.ready();
      const swap = new Promise<void>((resolve) => {
        operating = operate(daemon, () => {
          swaps++;
          resolve();
        });
      });
      if (life % 4 === 0) await Promise.race([swap, operating]);
      await pause(random.below(1000));
    }
    daemon.child.kill('SIGKILL');
    await operating;
    assert.equal(await daemon.ended, { code: null, signal: 'SIGKILL' }, daemon.stderr);
    daemon = spawn(path);
  }
  await daemon.ready();
  putSwapped(1);
  const after = await daemon.client();
  await after.loadModel('swapped');
  const swapped = await undisturbed(after, 'swapped', shortPrompts);
  await pause(500);
  stop.abort();
  await Promise.all(work);
  const total = addTallies(actors.map(({ tally }) => tally));
  process.stdout.write(
    `restarted: ${String(lives)} times, ${String(total.answered)} answers, ${String(total.lost)} lost, ${String(swaps)} swaps\n`,
  );
  assert.equal(total.wrong.slice(0, 5), []);
  assert.ok(total.answered > 100, `${String(total.answered)} answers`);
  assert.ok(total.lost > 0);
  assert.ok(swaps > 0);
  assert.equal(await undisturbed(after), expected);
  await after.unloadModel('swapped', { when_idle: true });
  await after.loadModel('swapped');
  assert.equal(await undisturbed(after, 'swapped', shortPrompts), swapped);
  await after.close();
  assert.equal(await daemon.stop(), { code: 0, signal: null });
  assert.not.ok(readdirSync(dirname(path)).includes(basename(path)));
});

test.run();
