/** kill -9 and SIGTERM at random moments under 32 clients. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SpikedError, type Client } from '../../client/index.js';
import { DaemonProcess } from '../daemon/helpers/process.js';
import { Random } from '../protocol/random-values.js';
import { assert, root, suite, tempDir } from '../tools/suite.js';
import { addTallies, type Tally } from './helpers/checks.js';
import { pause, undisturbed, type Undisturbed } from './helpers/traffic.js';
import { vitalSigns } from './helpers/vital-signs.js';

const test = suite('killed');
const long = process.env['SPIKED_TEST_LONG'] === '1';
const model = join(root, 'models/default.gguf');
const file = join(tempDir(), 'undisturbed.json');
const running: { child: ChildProcess }[] = [];
let expected: Undisturbed[];

async function start(path?: string, args: string[] = []): Promise<DaemonProcess> {
  const daemon = await DaemonProcess.start(['--model', model, '--max-queue', '256', ...args], path);
  running.push(daemon);
  return daemon;
}

/** Greedy answers are still those of a daemon that nobody disturbed. */
async function stillRight(daemon: DaemonProcess): Promise<void> {
  const client = await daemon.client();
  assert.equal(await undisturbed(client), expected);
  await client.close();
}

async function idle(daemon: DaemonProcess): Promise<void> {
  const client = await daemon.client();
  while ((await client.serverMemory()).session_bytes > 0) await pause(20);
  await client.close();
}

class ClientProcess {
  readonly child: ChildProcess;
  readonly started: Promise<unknown>;
  private stdout = '';

  constructor(path: string, seed: number, clients: number) {
    const program = join(root, 'dist/test/e2e/helpers/client-process.js');
    const args = [program, path, String(seed), String(clients), file];
    this.child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.started = once(this.child.stdout ?? this.child, 'data');
    this.child.stdout?.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    running.push(this);
  }

  async kill(): Promise<void> {
    await this.started;
    this.child.kill('SIGKILL');
    await once(this.child, 'close');
  }

  async end(): Promise<Tally> {
    await this.started;
    this.child.stdin?.end();
    await once(this.child, 'close');
    return JSON.parse(this.stdout.split('\n')[1] ?? '') as Tally;
  }
}

test.before(async () => {
  const daemon = await start();
  const client = await daemon.client();
  expected = await undisturbed(client);
  await client.close();
  writeFileSync(file, JSON.stringify(expected));
  await daemon.stop();
});
test.afterEach(() => {
  for (const { child } of running.splice(0)) child.kill('SIGKILL');
});

test('clients killed at random moments disturb neither the others nor the daemon', async () => {
  const random = new Random(41);
  const daemon = await start(undefined, ['--max-active', '6']);
  await stillRight(daemon);
  const before = vitalSigns(daemon.pid);
  let seed = 0;
  const processes = Array.from({ length: 8 }, () => new ClientProcess(daemon.path, seed++, 4));
  await Promise.all(processes.map(({ started }) => started));
  for (let kills = long ? 200 : 10; kills > 0; kills--) {
    await pause(random.below(400));
    const victim = random.below(processes.length);
    await processes[victim]?.kill();
    processes[victim] = new ClientProcess(daemon.path, seed++, 4);
  }
  const total = addTallies(await Promise.all(processes.map((one) => one.end())));
  assert.equal(total.wrong, []);
  assert.is(total.lost, 0);
  assert.ok(total.answered > 100, `${String(total.answered)} answers`);
  await idle(daemon);
  await stillRight(daemon);
  // The daemon closes its end of a connection a moment after the client has.
  for (let tries = 0; tries < 500 && vitalSigns(daemon.pid).descriptors > before.descriptors; tries++)
    await pause(10);
  const after = vitalSigns(daemon.pid);
  assert.is(after.threads, before.threads);
  assert.ok(
    after.descriptors <= before.descriptors,
    `${String(before.descriptors)} to ${String(after.descriptors)} descriptors`,
  );
  assert.ok(
    after.rssBytes < before.rssBytes + 150e6,
    `${String(before.rssBytes)} to ${String(after.rssBytes)} bytes`,
  );
  assert.equal(await daemon.stop(), { code: 0, signal: null });
});

/** Each kind of call that may be under way, by a client of its own. */
async function pendingCalls(
  daemon: DaemonProcess,
  random: Random,
): Promise<{ clients: Client[]; ends: Promise<string>[] }> {
  const clients = await Promise.all(Array.from({ length: 32 }, () => daemon.client()));
  const outcome = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'answer',
      (error: unknown) => (error instanceof SpikedError ? error.code : String(error)),
    );
  const ends = clients.flatMap((client) => {
    const { prompt, tokens } = random.pick(expected);
    const greedy = { prompt, temperature: 0, ignore_eos: true, max_tokens: tokens.length };
    const generation = client.generate(greedy);
    const told: number[] = [];
    const iterated = (async () => {
      for await (const { token } of generation) told.push(token);
    })();
    const right = Promise.all([generation.result, iterated]).then(([result]) => {
      assert.equal(told, result.tokens);
      const whole = result.stop_reason !== 'cancelled';
      assert.equal(result.tokens, whole ? tokens : tokens.slice(0, told.length));
    });
    return [
      outcome(right),
      outcome(iterated),
      outcome(client.score({ prompt })),
      outcome(client.encode(prompt)),
    ];
  });
  return { clients, ends };
}

async function settled(ends: Promise<string>[]): Promise<string[]> {
  const late = new Promise<string>((resolve) => setTimeout(() => resolve('no end'), 30_000).unref());
  return Promise.all(ends.map((end) => Promise.race([end, late])));
}

test('kill -9 of the daemon ends every call with ERR_CONNECTION_LOST; the next daemon takes the path at once', async () => {
  const random = new Random(42);
  let daemon = await start();
  const seen = new Set<string>();
  for (let rounds = long ? 40 : 4; rounds > 0; rounds--) {
    const { clients, ends } = await pendingCalls(daemon, random);
    await pause(random.below(300));
    daemon.child.kill('SIGKILL');
    for (const end of await settled(ends)) seen.add(end);
    await Promise.all(clients.map((client) => client.closed));
    await daemon.ended;
    daemon = await start(daemon.path);
  }
  assert.equal([...seen].sort(), ['ERR_CONNECTION_LOST', 'answer']);
  await stillRight(daemon);
});

test('SIGTERM at random moments: every call ends with an answer or the reason, the daemon with 0', async () => {
  const random = new Random(43);
  const seen = new Set<string>();
  for (let rounds = long ? 40 : 4; rounds > 0; rounds--) {
    const daemon = await start(undefined, ['--drain-ms', String(random.pick([0, 50, 2000]))]);
    const { clients, ends } = await pendingCalls(daemon, random);
    await pause(random.below(200));
    assert.equal(await daemon.stop(), { code: 0, signal: null });
    for (const end of await settled(ends)) seen.add(end);
    await Promise.all(clients.map((client) => client.closed));
  }
  const allowed = ['answer', 'ERR_SHUTTING_DOWN', 'ERR_CANCELLED'];
  assert.equal(
    [...seen].filter((end) => !allowed.includes(end)),
    [],
  );
});

test.run();
