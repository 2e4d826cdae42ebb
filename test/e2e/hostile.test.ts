/** Clients that are wrong, slow or gone, and a machine that gives too little: the daemon answers by its table, and others never notice. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { encodeMessage, errorTable, isErrorCode } from '../../client/protocol/index.js';
import { SpikedError, type Client } from '../../client/index.js';
import { DaemonProcess, socketPath } from '../daemon/helpers/process.js';
import { RawClient } from '../daemon/helpers/raw-client.js';
import { Random, randomValue } from '../protocol/random-values.js';
import { assert, missing, root, suite } from '../tools/suite.js';
import { Audited } from './helpers/audited.js';
import { pause, undisturbed, type Undisturbed } from './helpers/traffic.js';
import { vitalSigns } from './helpers/vital-signs.js';

const test = suite('hostile');
const long = process.env['SPIKED_TEST_LONG'] === '1';
const model = join(root, 'models/default.gguf');
const context = 256;
const running: DaemonProcess[] = [];
let daemon: DaemonProcess;
let client: Client;
let expected: Undisturbed[];

async function start(args: string[] = [], env: NodeJS.ProcessEnv = {}): Promise<DaemonProcess> {
  const other = DaemonProcess.spawn(['--model', model, ...args], socketPath(), env);
  running.push(other);
  await other.ready();
  return other;
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'answer',
    (error: unknown) => (error instanceof SpikedError ? error.code : String(error)),
  );

test.before(async () => {
  daemon = await start(['--max-tokens', '64']);
  client = await daemon.client();
  expected = await undisturbed(client);
});
test.after(async () => {
  assert.equal(await undisturbed(client), expected);
  await client.close();
  assert.equal(await daemon.stop(), { code: 0, signal: null });
  for (const one of running) one.child.kill('SIGKILL');
});

const valid: [method: string, params: Record<string, unknown>][] = [
  ['server.info', {}],
  ['server.memory', {}],
  ['server.metrics', {}],
  ['model.list', {}],
  ['model.load', { model: 'default' }],
  ['model.unload', { model: 'another' }],
  ['tokens.encode', { text: 'Emma', model: 'default', bos: true }],
  ['tokens.decode', { tokens: [1, 2, 3] }],
  [
    'text.generate',
    { stream: 1, prompt: 'Emma', max_tokens: 3, temperature: 1, top_k: 9, top_p: 0.5, seed: 1, stop: ['x'] },
  ],
  [
    'text.generate',
    { stream: 'a', tokens: [1, 5], max_tokens: 2, banned: [7], logprobs: true, head: { mode: 'gate', k: 4 } },
  ],
  ['text.cancel', { stream: 1 }],
  ['text.score', { tokens: [1, 2, 3] }],
];
const sessions = ['session.open', 'session.append', 'session.generate', 'session.fork', 'session.close'];

/** A valid call with a few things changed. */
function mutated(random: Random): [method: string, params: object] {
  const [method, params] = random.pick(valid);
  const changed = { ...params };
  for (let changes = random.below(3); changes > 0; changes--) {
    const keys = Object.keys(changed);
    const key = keys.length > 0 && random.below(4) > 0 ? random.pick(keys) : `k${String(random.below(5))}`;
    if (random.below(5) === 0) Reflect.deleteProperty(changed, key);
    else changed[key] = randomValue(random);
  }
  const other = random.below(10) === 0 ? random.pick([...sessions, ...valid.map(([name]) => name)]) : method;
  return [other, changed];
}

test('changed and mixed-up calls: one answer each, by the table, and no number that is none', async () => {
  const random = new Random(91);
  for (let rounds = long ? 400 : 12; rounds > 0; rounds--) {
    const connection = await Audited.connect(daemon.path);
    const calls = Array.from({ length: 40 }, () => mutated(random));
    const outcomes = await Promise.all(calls.map(([method, params]) => connection.call(method, params)));
    for (const [i, outcome] of outcomes.entries()) {
      const call = JSON.stringify(calls[i], (_, value: unknown) =>
        typeof value === 'bigint' ? `${String(value)}n` : value,
      );
      assert.ok(outcome.kind !== 'lost', `lost: ${call}`);
      if (outcome.kind !== 'error') continue;
      assert.ok(isErrorCode(outcome.code) && outcome.code !== 'ERR_INTERNAL', `${outcome.text}: ${call}`);
      assert.ok(errorTable[outcome.code].number > 0);
    }
    // Streams of these calls have ids of their own, which Audited does not know.
    assert.equal(
      connection.violations.filter((text) => !text.startsWith('a token of a stream')),
      [],
    );
    connection.destroy();
  }
  assert.not.match(daemon.stderr, /unexpected/);
});

test('every byte as prompt: as a character, as binary, as text that is no UTF-8', async () => {
  const raw = await RawClient.connect(daemon.path);
  for (let byte = 0; byte < 256; byte++) {
    const base = { stream: byte, max_tokens: 1, temperature: 0 };
    raw.send(0, 3 * byte, 'text.generate', [{ ...base, prompt: String.fromCharCode(byte) }]);
    assert.is((await raw.result(3 * byte))['generated_tokens'], 1);
    raw.send(0, 3 * byte + 1, 'text.generate', [{ ...base, prompt: Uint8Array.of(byte) }]);
    assert.match((await raw.error(3 * byte + 1))[1], /^ERR_INVALID_ARGUMENT: .*"prompt": expected string/);
    const bytes = encodeMessage([0, 3 * byte + 2, 'text.generate', [{ ...base, prompt: 'X' }]]);
    bytes[bytes.lastIndexOf(0x58)] = byte;
    raw.write(bytes);
    if (byte < 0x80) assert.is((await raw.result(3 * byte + 2))['generated_tokens'], 1);
    else assert.match((await raw.error(3 * byte + 2))[1], /^ERR_RPC_INVALID: .*UTF-8/);
  }
  assert.is(raw.messages.filter((message) => message[0] === 1).length, 768);
  raw.close();
});

test('a prompt of 50 MB is refused by its header; the daemon does not grow by it', async () => {
  const before = vitalSigns(daemon.pid).rssBytes;
  const other = await daemon.client();
  const prompt = 'Emma was sorry. '.repeat(3_125_000);
  assert.is(await codeOf(other.score({ prompt })), 'ERR_RPC_TOO_LARGE');
  await other.closed;
  const grown = vitalSigns(daemon.pid).rssBytes - before;
  assert.ok(grown < 60e6, `grew by ${String(grown)} bytes`);
});

test('the context, one less and one more', async () => {
  const ids = (n: number): number[] => Array.from({ length: n }, (_, i) => 3 + (i % 900));
  const generate = (n: number): Promise<unknown> =>
    client
      .generate({ tokens: ids(n), max_tokens: 9, temperature: 0, ignore_eos: true })
      .result.then(({ generated_tokens }) => generated_tokens);
  assert.is(await generate(context - 2), 2);
  assert.is(await generate(context - 1), 1);
  for (const n of [context, context + 1]) assert.is(await codeOf(generate(n)), 'ERR_CONTEXT_FULL');
  for (const n of [context - 1, context])
    assert.is((await client.score({ tokens: ids(n) })).logprobs.length, n);
  assert.is(await codeOf(client.score({ tokens: ids(context + 1) })), 'ERR_CONTEXT_FULL');
});

test('a reader that is slow but reads is kept, one that stands still is dropped', async () => {
  const strict = await start(['--slow-reader-ms', '2500']);
  const [slow, still] = [await RawClient.connect(strict.path), await RawClient.connect(strict.path)];
  const text = 'Emma was sorry. '.repeat(16_000);
  // Some 200 kB an answer: what does not fit into the kernel's buffer becomes one long write.
  for (const raw of [slow, still]) {
    raw.socket.pause();
    for (let id = 0; id < 8; id++) raw.send(0, id, 'tokens.encode', [{ text }]);
  }
  const dropped = (): number => strict.stderr.match(/dropping a client/g)?.length ?? 0;
  for (let after = 0; after < 30; after += dropped()) {
    await pause(100);
    // The kernel lets the writer go on when three quarters of its buffer have been read.
    const piece: unknown = slow.socket.read(Math.min(12_000, slow.socket.readableLength));
    if (piece === null) slow.socket.read(0);
  }
  slow.socket.resume();
  await slow.until('all answers', () => slow.messages.length === 8);
  assert.is(dropped(), 1);
  slow.close();
  still.close();
});

test('a reader away for long comes back to every token; others go on, memory stays', async () => {
  const patient = await start([
    '--slow-reader-ms',
    '86400000',
    '--max-unread-bytes',
    '65536',
    '--context',
    '100000',
    '--max-tokens',
    '100000',
  ]);
  const other = await patient.client();
  const away = await RawClient.connect(patient.path);
  away.socket.pause();
  away.send(0, 1, 'text.generate', [
    { stream: 1, prompt: 'Emma', max_tokens: 8000, ignore_eos: true, seed: 3 },
  ]);
  await pause(1500);
  const before = vitalSigns(patient.pid).rssBytes;
  const end = performance.now() + (long ? 600_000 : 3000);
  while (performance.now() < end)
    assert.is(
      (await other.generate({ prompt: 'Emma', max_tokens: 20, ignore_eos: true }).result).generated_tokens,
      20,
    );
  const grown = vitalSigns(patient.pid).rssBytes - before;
  assert.ok(grown < 60e6, `grew by ${String(grown)} bytes`);
  away.socket.resume();
  const end2 = performance.now() + 120_000;
  while (!away.messages.some((message) => message[0] === 1) && performance.now() < end2) await pause(50);
  assert.is((await away.result(1))['generated_tokens'], 8000);
  const seqs = away.events('text.token').map((event) => event['seq']);
  assert.ok(seqs.length === 8000 && seqs.every((seq, i) => seq === i));
  away.close();
  await other.close();
});

test.needs(
  missing('prlimit'),
  'no descriptors left: who is there is served, and there is room again',
  async () => {
    const poor = await start(['--max-connections', '500']);
    const first = await poor.client();
    assert.ok((await first.score({ prompt: 'Emma was' })).logprobs.length > 1);
    const { descriptors } = vitalSigns(poor.pid);
    const limit = `--nofile=${String(descriptors + 10)}:${String(descriptors + 10)}`;
    await once(spawn('prlimit', [limit, '--pid', String(poor.pid)]), 'close');
    const crowd = await Promise.all(Array.from({ length: 60 }, () => RawClient.connect(poor.path)));
    await pause(500);
    assert.is(
      (await first.generate({ prompt: 'Emma', max_tokens: 5, ignore_eos: true }).result).generated_tokens,
      5,
    );
    for (const one of crowd) one.close();
    let again = 'none';
    for (let tries = 0; tries < 100 && again !== 'answer'; tries++) {
      await pause(50);
      again = await codeOf(poor.client().then(async (one) => (await one.serverInfo(), one.close())));
    }
    assert.is(again, 'answer');
    await first.close();
    assert.equal(await poor.stop(), { code: 0, signal: null });
  },
);

/** Loaded before the daemon: a wall clock that jumps by days, forth and back. */
const jumpingClock = `
  const real = Date.now, days = () => Math.round((Math.random() - 0.5) * 1e9);
  const Real = Date;
  globalThis.Date = class extends Real { constructor(...a) { super(...(a.length ? a : [real() + days()])); } };
  globalThis.Date.now = () => real() + days();`;

test('steps of the wall clock change no answer, no wait and no time that is told', async () => {
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(jumpingClock)}` };
  const stepped = await start(['--message-ms', '400', '--drain-ms', '300'], env);
  const other = await stepped.client();
  assert.equal(await undisturbed(other), expected);
  const { timings } = await other.generate({ prompt: 'Emma', max_tokens: 20 }).result;
  for (const ns of Object.values(timings)) assert.ok(ns >= 0 && ns < 60e9, String(ns));
  const half = await RawClient.connect(stepped.path);
  half.write([0x94, 0x00]);
  await half.gone();
  assert.match(JSON.stringify(half.events('server.closing')), /ERR_TIMEOUT/);
  await other.close();
  assert.equal(await stepped.stop(), { code: 0, signal: null });
});

test.run();
