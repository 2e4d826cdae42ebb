/** Random mixed traffic for a while: right answers, and no more memory, descriptors and threads at the end than after the first quarter. */
import { join } from 'node:path';
import { DaemonProcess } from '../daemon/helpers/process.js';
import { Random } from '../protocol/random-values.js';
import { assert, root, suite } from '../tools/suite.js';
import { Actor, addTallies, pause, undisturbed } from './helpers/traffic.js';
import { vitalSigns } from './helpers/vital-signs.js';

const test = suite('soak');
const long = process.env['SPIKED_TEST_LONG'] === '1';
const seconds = Number(process.env['SPIKED_SOAK_SECONDS'] ?? (long ? 600 : 20));
const clients = 16;

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
const quarters = (samples: readonly number[]): number[] =>
  [0, 1, 2, 3].map((q) => median(samples.slice((q * samples.length) / 4, ((q + 1) * samples.length) / 4)));

/** V8 grows its heap until it has seen the load, which takes minutes, and gives back late: what the last quarter may lie above the second. */
const noise = (bytes: number): number => 0.05 * bytes + (seconds < 120 ? 40e6 : 8e6);

test(`${String(seconds)} s of mixed traffic`, async () => {
  const daemon = await DaemonProcess.start([
    '--model',
    join(root, 'models/default.gguf'),
    '--log-level',
    'warn',
  ]);
  const client = await daemon.client();
  const expected = await undisturbed(client);
  const stop = new AbortController();
  const actors = Array.from(
    { length: clients },
    (_, i) => new Actor(daemon.path, new Random(7000 + i), expected),
  );
  const work = actors.map((actor) => actor.run(stop.signal));
  const rss: number[] = [];
  const end = performance.now() + seconds * 1000;
  // The first moments are V8's, which has yet to see the load.
  await pause(seconds * 100);
  let busiest = vitalSigns(daemon.pid);
  while (performance.now() < end) {
    await pause(seconds * 5);
    busiest = vitalSigns(daemon.pid);
    rss.push(busiest.rssBytes);
  }
  stop.abort();
  await Promise.all(work);
  const total = addTallies(actors.map(({ tally }) => tally));
  process.stdout.write(
    `soak: ${String(total.answered)} answers, ${String(total.busy)} busy, RSS of the quarters ${quarters(rss)
      .map((bytes) => (bytes / 1e6).toFixed(1))
      .join(' ')} MB\n`,
  );
  assert.equal(total.wrong.slice(0, 5), []);
  assert.is(total.lost, 0);
  assert.ok(total.answered > 20 * seconds, `${String(total.answered)} answers`);
  while ((await client.serverMemory()).session_bytes > 0) await pause(20);
  await pause(200);
  assert.equal(await undisturbed(client), expected);
  const [, second = 0, , last = 0] = quarters(rss);
  assert.ok(last < second + noise(second), `RSS by quarters: ${quarters(rss).join(' ')}`);
  const after = vitalSigns(daemon.pid);
  assert.is(after.threads, busiest.threads);
  assert.ok(
    after.descriptors <= busiest.descriptors,
    `${String(busiest.descriptors)} to ${String(after.descriptors)}`,
  );
  await client.close();
  assert.equal(await daemon.stop(), { code: 0, signal: null });
  assert.is(daemon.stderr, '');
});

test.run();
