/**
 * Random mixed traffic for a while, during which models are swapped and the configuration is read again: right answers, and no more
 * memory, descriptors and threads at the end than after the first quarter.
 */
import { join } from 'node:path';
import type { Client } from '../../client/index.js';
import { goldenModel, smallCase } from '../daemon/helpers/models.js';
import { DaemonProcess } from '../daemon/helpers/process.js';
import { Random } from '../protocol/random-values.js';
import { assert, root, suite, tempDir } from '../tools/suite.js';
import { addTallies } from './helpers/checks.js';
import { refusal, Reloader } from './helpers/reloader.js';
import { putFile, SwappedModel, type Version } from './helpers/swapped-model.js';
import { SessionKeeper, SwappedModelActor } from './helpers/swapped-traffic.js';
import { Swapper } from './helpers/swapper.js';
import { Actor, pause, shortPrompts, undisturbed, type Undisturbed } from './helpers/traffic.js';
import { vitalSigns } from './helpers/vital-signs.js';

const test = suite('soak');
const long = process.env['SPIKED_TEST_LONG'] === '1';
const seconds = Number(process.env['SPIKED_SOAK_SECONDS'] ?? (long ? 600 : 20));
const clients = 16;
/** Milliseconds between two swaps, and two reloads, at most. */
const longestPauseMs = long ? 3000 : 1000;

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
const quarters = (samples: readonly number[]): number[] =>
  [0, 1, 2, 3].map((q) => median(samples.slice((q * samples.length) / 4, ((q + 1) * samples.length) / 4)));

/** V8 grows its heap until it has seen the load, which takes minutes, and gives back late: what the last quarter may lie above the second. */
const noise = (bytes: number): number => 0.05 * bytes + (seconds < 120 ? 40e6 : 8e6);

const folder = tempDir();
const defaultPath = join(folder, 'default.gguf');
const swappedPath = join(folder, 'swapped.gguf');
const config = join(folder, 'config.json');
const settings = { models: [defaultPath, swappedPath], log_level: 'warn' };

interface Subject {
  daemon: DaemonProcess;
  client: Client;
  expected: Undisturbed[];
  swapped: SwappedModel;
}

/** A daemon with both models, and what it answers while nobody disturbs it. */
async function start(): Promise<Subject> {
  const [one, two] = await Promise.all([
    goldenModel(smallCase, { name: 'one', tokenizer: true }),
    goldenModel('f_silent_positions', { name: 'two', tokenizer: true }),
  ]);
  putFile(defaultPath, { copyOf: join(root, 'models/default.gguf') });
  putFile(swappedPath, { copyOf: one });
  putFile(config, JSON.stringify(settings));
  const daemon = await DaemonProcess.start(['--config', config]);
  const client = await daemon.client();
  const swap = async (source: string): Promise<Version> => {
    putFile(swappedPath, { copyOf: source });
    await client.loadModel('swapped');
    return { source, expected: await undisturbed(client, 'swapped', shortPrompts) };
  };
  const other = await swap(two);
  const swapped = new SwappedModel(swappedPath, [await swap(one), other]);
  assert.not.equal(swapped.current?.expected, other.expected);
  return { daemon, client, swapped, expected: await undisturbed(client) };
}

test(`${String(seconds)} s of mixed traffic`, async () => {
  const { daemon, client, expected, swapped } = await start();
  const { path } = daemon;
  await pause(200);
  const before = vitalSigns(daemon.pid);
  const { weights_bytes: weightsBytes } = await client.serverMemory();
  const stop = new AbortController();
  const random = (seed: number): Random => new Random(7000 + seed);
  const swapper = new Swapper(path, random(101), swapped, defaultPath);
  const reloader = new Reloader(daemon, config, settings, random(102));
  const changed = async (): Promise<void> => {
    const { swaps } = swapper;
    const { reloads } = reloader;
    while (!stop.signal.aborted && (swapper.swaps === swaps || reloader.reloads === reloads)) await pause(10);
  };
  const keepers = [swapped, null].map(
    (model, i) => new SessionKeeper(path, random(103 + i), model, expected, changed),
  );
  const traffic = [
    ...Array.from({ length: clients }, (_, i) => new Actor(path, random(i), expected)),
    ...[105, 106].map((seed) => new SwappedModelActor(path, random(seed), swapped)),
    ...keepers,
  ];
  const operators = [swapper, reloader];
  const work = [
    ...traffic.map((actor) => actor.run(stop.signal)),
    ...operators.map((operator) => operator.run(stop.signal, longestPauseMs)),
  ];
  const rss: number[] = [];
  const sample = async (): Promise<void> => {
    const end = performance.now() + seconds * 1000;
    // The first moments are V8's, which has yet to see the load.
    await pause(seconds * 100);
    while (performance.now() < end) {
      await pause(seconds * 5);
      rss.push(vitalSigns(daemon.pid).rssBytes);
    }
    stop.abort();
  };
  await Promise.all([sample(), ...work]).finally(() => stop.abort());
  const total = addTallies([...traffic, ...operators].map(({ tally }) => tally));
  const kept = keepers.reduce((sum, keeper) => sum + keeper.kept, 0);
  process.stdout.write(
    `soak: ${String(total.answered)} answers, ${String(total.wrong.length)} wrong, ${String(total.lost)} lost, ${String(total.busy)} busy; ` +
      `${String(swapper.swaps)} swaps, ${String(reloader.reloads)} reloads, ${String(reloader.refusals)} refused, ` +
      `${String(kept)} sessions across both; RSS of the quarters ${quarters(rss)
        .map((bytes) => (bytes / 1e6).toFixed(1))
        .join(' ')} MB\n`,
  );
  assert.equal(total.wrong.slice(0, 5), []);
  assert.is(total.lost, 0);
  assert.ok(total.answered > 20 * seconds, `${String(total.answered)} answers`);
  for (const times of [swapper.swaps, reloader.reloads, reloader.refusals, kept]) assert.ok(times > 0);
  for (;;) {
    const memory = await client.serverMemory();
    if (memory.session_bytes === 0 && memory.weights_bytes === weightsBytes) break;
    await pause(20);
  }
  await pause(200);
  assert.equal(await undisturbed(client), expected);
  const [, second = 0, , last = 0] = quarters(rss);
  assert.ok(last < second + noise(second), `RSS by quarters: ${quarters(rss).join(' ')}`);
  const after = vitalSigns(daemon.pid);
  assert.is(after.threads, before.threads);
  assert.ok(
    after.descriptors <= before.descriptors,
    `${String(before.descriptors)} to ${String(after.descriptors)} descriptors`,
  );
  await client.close();
  assert.equal(await daemon.stop(), { code: 0, signal: null });
  const complaints = daemon.stderr.split('\n').filter((line) => /"level":[4-6]0/.test(line));
  assert.equal(
    complaints.filter((line) => !line.includes(refusal)),
    [],
  );
});

test.run();
