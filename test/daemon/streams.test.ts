import type { Client } from '../../client/index.js';
import { assert, suite } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { DaemonProcess } from './helpers/process.js';
import { RawClient } from './helpers/raw-client.js';

const test = suite('streams');
let daemon: DaemonProcess;
let client: Client;
const opened: RawClient[] = [];

const long = { tokens: [1, 2, 3], max_tokens: 100_000 };

async function open(): Promise<RawClient> {
  const raw = await RawClient.connect(daemon.path);
  opened.push(raw);
  return raw;
}

function start(raw: RawClient, id: number, params: object = {}): void {
  raw.send(0, id, 'text.generate', [{ stream: id, ...long, ...params }]);
}

/** Waits until nothing is active or queued any more. */
async function idle(): Promise<void> {
  for (let tries = 0; tries < 800; tries++) {
    if ((await client.serverMemory()).session_bytes === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('sessions are still open');
}

test.before(async () => {
  const model = await goldenModel(smallCase);
  daemon = await DaemonProcess.start([
    ...['--model', model, '--context', '1000000', '--max-tokens', '1000000', '--max-unread-bytes', '8192'],
    ...['--max-active', '2', '--max-queue', '2', '--slow-reader-ms', '5000'],
  ]);
  client = await daemon.client();
});
test.afterEach(async () => {
  for (const raw of opened.splice(0)) raw.close();
  await idle();
});
test.after(async () => {
  await client.close();
  assert.is((await daemon.stop()).code, 0, daemon.stderr);
});

/** Streams by the times of their tokens: what leaves the daemon in one write may stand in another order. */
function byTime(events: { stream: string; t: bigint }[]): string {
  return events
    .sort((a, b) => Number(a.t - b.t))
    .map(({ stream }) => stream)
    .join('');
}

const times = (raw: RawClient, id: number, stream: string): { stream: string; t: bigint }[] =>
  raw
    .events('text.token')
    .filter((event) => event['stream'] === id)
    .map((event) => ({ stream, t: BigInt(event['t_ns'] as number) }));

/** One of a few attempts: on a busy machine a request can arrive late, or its tokens wait for a daemon that gets no time. */
async function alternates(attempt: () => Promise<string>): Promise<void> {
  let order = '';
  for (let tries = 0; tries < 20; tries++) {
    order = await attempt();
    const both = order.slice(order.indexOf('b'), order.lastIndexOf('b') + 1);
    if (/^(ba)+b$/.test(both) && both.length > 60) return;
  }
  throw new Error(`expected turns of one token each, found ${order}`);
}

test('active generations take turns token by token', async () => {
  await alternates(async () => {
    const raw = await open();
    start(raw, 1, { max_tokens: 60, ignore_eos: true });
    start(raw, 2, { max_tokens: 40, ignore_eos: true });
    await Promise.all([raw.result(1), raw.result(2)]);
    return byTime([...times(raw, 1, 'a'), ...times(raw, 2, 'b')]);
  });
});

test('fair between connections, too', async () => {
  await alternates(async () => {
    const [a, b] = [await open(), await open()];
    start(a, 1, { max_tokens: 250, ignore_eos: true });
    start(b, 1, { max_tokens: 40, ignore_eos: true });
    await Promise.all([a.result(1), b.result(1)]);
    return byTime([...times(a, 1, 'a'), ...times(b, 1, 'b')]);
  });
});

test('cancel a running generation: one answer, nothing after it', async () => {
  const raw = await open();
  start(raw, 1);
  await raw.until('some tokens', () => raw.events('text.token').length >= 3);
  raw.send(0, 2, 'text.cancel', [{ stream: 1 }]);
  assert.equal(await raw.result(2), { cancelled: true });
  const result = await raw.result(1);
  assert.is(result['stop_reason'], 'cancelled');
  const events = raw.events('text.token');
  assert.equal(
    events.map((event) => event['token']),
    result['tokens'],
  );
  raw.send(0, 3, 'text.cancel', [{ stream: 1 }]);
  assert.equal(await raw.result(3), { cancelled: false });
  assert.is(raw.events('text.token').length, events.length);
  assert.is(raw.messages.filter((message) => message[0] === 1 && message[1] === 1).length, 1);
});

test('cancel a queued generation: answered at once, without a token', async () => {
  const raw = await open();
  for (const id of [1, 2, 3]) start(raw, id);
  raw.send(0, 9, 'text.cancel', [{ stream: 3 }]);
  const result = await raw.result(3);
  assert.is(result['stop_reason'], 'cancelled');
  assert.equal(result['tokens'], []);
  assert.ok(!raw.messages.some((message) => message[0] === 1 && (message[1] === 1 || message[1] === 2)));
});

test('a full queue refuses, and has room again afterwards', async () => {
  const raw = await open();
  for (const id of [1, 2, 3, 4, 5]) start(raw, id);
  assert.match((await raw.error(5))[1], /^ERR_BUSY: queue: expected at most 2 active and 2 waiting/);
  raw.send(0, 10, 'text.cancel', [{ stream: 4 }]);
  await raw.result(4);
  start(raw, 6, { max_tokens: 1 });
  for (const id of [1, 2, 3]) raw.send(2, 'text.cancel', [{ stream: id }]);
  assert.is((await raw.result(6))['generated_tokens'], 1);
});

test('a stream id that is active is not taken twice; number and text are different ids', async () => {
  const raw = await open();
  start(raw, 1);
  raw.send(0, 2, 'text.generate', [{ ...long, stream: 1 }]);
  assert.match((await raw.error(2))[1], /^ERR_INVALID_ARGUMENT: text.generate: "stream"/);
  raw.send(0, 3, 'text.generate', [{ ...long, stream: '1', max_tokens: 2 }]);
  assert.is((await raw.result(3))['stream'], '1');
  const other = await open();
  other.send(0, 1, 'text.cancel', [{ stream: 1 }]);
  assert.equal(await other.result(1), { cancelled: false }, 'streams belong to their connection');
});

test('a client that vanishes takes its running and queued work with it', async () => {
  const raw = await open();
  for (const id of [1, 2, 3, 4]) start(raw, id);
  await raw.until('tokens', () => raw.events('text.token').length >= 4);
  raw.socket.destroy();
  await idle();
  const { generated_tokens } = await client.generate({ tokens: [1], max_tokens: 2 }).result;
  assert.is(generated_tokens, 2);
});

test('so does one that vanishes right after asking', async () => {
  for (let round = 0; round < 5; round++) {
    const raw = await open();
    for (const id of [1, 2, 3, 4]) start(raw, id);
    raw.socket.end();
    raw.socket.destroy();
  }
  await idle();
  assert.is((await client.generate({ tokens: [1], max_tokens: 1 }).result).generated_tokens, 1);
});

test('a paused reader pauses its own generation only, and it goes on where it was', async () => {
  const raw = await open();
  raw.socket.pause();
  start(raw, 1, { max_tokens: 3000 });
  const others: number[] = [];
  const until = Date.now() + 1200;
  while (Date.now() < until) {
    const { result } = client.generate({ tokens: [1], max_tokens: 20 });
    others.push((await result).generated_tokens);
  }
  assert.is(raw.messages.length, 0);
  assert.ok(others.length > 0 && others.every((count) => count === 20));
  raw.socket.resume();
  assert.is((await raw.result(1))['generated_tokens'], 3000);
  const seqs = raw.events('text.token').map((event) => event['seq']);
  assert.equal(
    seqs,
    Array.from({ length: 3000 }, (_, i) => i),
  );
});

test('a reader that stays away is dropped', async () => {
  const raw = await open();
  raw.socket.pause();
  start(raw, 1);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const before = await client.serverMemory();
  assert.ok(before.session_bytes > 0);
  await idle();
  assert.match(daemon.stderr, /dropping a client that does not read its answers/);
});

test('a client that asks without reading is not buffered for without bound', async () => {
  const raw = await open();
  raw.socket.pause();
  const before = (await client.serverMemory()).rss_bytes;
  for (let i = 0; i < 20_000; i++) raw.send(0, i, 'server.info', []);
  await new Promise((resolve) => setTimeout(resolve, 800));
  const grown = (await client.serverMemory()).rss_bytes - before;
  assert.ok(grown < 40e6, `the daemon grew by ${String(grown)} bytes`);
  raw.socket.resume();
  await raw.until('all answers', () => raw.messages.length === 20_000);
});

test.run();
