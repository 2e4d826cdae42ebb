import { writeFileSync } from 'node:fs';
import type net from 'node:net';
import { join } from 'node:path';
import { connect, type ErrorCode, type SpikedError, type TokenEvent } from '../../client/index.js';
import { assert, suite, tempDir } from '../tools/suite.js';
import { FakeDaemon, send, summary, type Answer } from './fake-daemon.js';

const test = suite('client');
const fakes: FakeDaemon[] = [];

function fake(answer: Answer = () => undefined): FakeDaemon {
  const daemon = new FakeDaemon(answer);
  fakes.push(daemon);
  return daemon;
}

test.afterEach(() => {
  for (const daemon of fakes.splice(0)) daemon.close();
});

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function failure(work: Promise<unknown>, code: ErrorCode): Promise<SpikedError> {
  const outcome = await Promise.race([
    work.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    ),
    sleep(5000).then(() => ({ late: true })),
  ]);
  if (!('error' in outcome)) throw new Error(`expected ${code}, found ${JSON.stringify(outcome)}`);
  const error = outcome.error as SpikedError;
  assert.is(error.code, code, error.stack);
  return error;
}

async function collect(events: AsyncIterable<TokenEvent>): Promise<number[]> {
  const tokens: number[] = [];
  for await (const { token } of events) tokens.push(token);
  return tokens;
}

function sendToken(socket: net.Socket, stream: unknown, seq: number, extra: object = {}): void {
  send(socket, 2, 'text.token', [{ stream, seq, token: seq, text: String(seq), t_ns: 1, ...extra }]);
}

test('nobody there, no socket, a bad path', async () => {
  const folder = tempDir();
  await failure(connect({ path: join(folder, 'none.sock') }), 'ERR_DAEMON_NOT_RUNNING');
  const file = join(folder, 'file');
  writeFileSync(file, '');
  await failure(connect({ path: file }), 'ERR_DAEMON_NOT_RUNNING');
  await failure(connect({ path: join(file, 'x') }), 'ERR_SOCKET_PATH');
  await failure(connect({ path: '' }), 'ERR_SOCKET_PATH');
  await failure(connect({ path: `/tmp/${'x'.repeat(103)}` }), 'ERR_SOCKET_PATH');
});

test('answers in any order reach their calls', async () => {
  const waiting: (() => void)[] = [];
  const client = await fake(([, id, , [params]], socket) => {
    waiting.unshift(() => send(socket, 1, id, null, { text: String((params['tokens'] as number[])[0]) }));
    if (waiting.length === 3) for (const answer of waiting) answer();
  }).client();
  assert.equal(await Promise.all([1, 2, 3].map((id) => client.decode([id]))), ['1', '2', '3']);
});

test('an error of the daemon keeps its code and number; an unknown form is still an error', async () => {
  const forms: Record<string, unknown> = {
    a: [304, 'ERR_MODEL_NOT_FOUND: model "a": none'],
    b: 'plain',
    c: [1, 'no code'],
    d: { x: 1 },
  };
  const daemon = fake(([, id, , [params]], socket) =>
    send(socket, 1, id, forms[params['model'] as string], null),
  );
  const client = await daemon.client();
  const error = await failure(client.loadModel('a'), 'ERR_MODEL_NOT_FOUND');
  assert.is(error.message, 'model "a": none');
  assert.is(error.number, 304);
  for (const name of ['b', 'c', 'd']) await failure(client.loadModel(name), 'ERR_INTERNAL');
});

test('every pending call and stream ends when the connection is lost', async () => {
  const daemon = fake((_, socket) => setTimeout(() => socket.destroy(), 50));
  const client = await daemon.client();
  const generation = client.generate({ prompt: 'x' });
  await Promise.all([
    failure(client.serverInfo(), 'ERR_CONNECTION_LOST'),
    failure(client.score({ prompt: 'x' }), 'ERR_CONNECTION_LOST'),
    failure(collect(generation), 'ERR_CONNECTION_LOST'),
    failure(generation.result, 'ERR_CONNECTION_LOST'),
    client.closed,
  ]);
  await failure(client.serverInfo(), 'ERR_CONNECTION_LOST');
  await failure(collect(client.generate({ prompt: 'x' })), 'ERR_CONNECTION_LOST');
});

test('the reason that the daemon gives for closing is what the calls reject with', async () => {
  const client = await fake((_, socket) => {
    send(socket, 2, 'server.closing', [{ error: [403, 'ERR_BUSY: connections: all in use'] }]);
    socket.end();
  }).client();
  const error = await failure(client.serverInfo(), 'ERR_BUSY');
  assert.is(error.message, 'connections: all in use');
});

test('close() rejects what is pending', async () => {
  const client = await fake().client();
  const call = failure(client.serverInfo(), 'ERR_CONNECTION_LOST');
  const stream = failure(collect(client.generate({ prompt: 'x' })), 'ERR_CONNECTION_LOST');
  await client.close();
  await Promise.all([call, stream]);
});

test('silence ends a call and a stream with ERR_TIMEOUT; a token begins the time anew', async () => {
  const daemon = fake(([, , method, [params]], socket) => {
    if (method !== 'text.generate') return;
    for (let seq = 0; seq < 5; seq++)
      setTimeout(() => sendToken(socket, params['stream'], seq), 200 * (seq + 1));
  });
  const client = await daemon.client();
  await failure(client.serverInfo({ timeoutMs: 30 }), 'ERR_TIMEOUT');
  const generation = client.generate({ prompt: 'x' }, { timeoutMs: 600 });
  const seen: number[] = [];
  const loop = async (): Promise<void> => {
    for await (const event of generation) seen.push(event.token);
  };
  const error = await failure(loop(), 'ERR_TIMEOUT');
  assert.match(error.message, /within 600 ms/);
  assert.equal(seen, [0, 1, 2, 3, 4]);
  await sleep(50);
  assert.ok(daemon.methods().includes('text.cancel'), 'the daemon is told to stop');
});

test('a signal abandons a call at once and cancels a stream', async () => {
  const daemon = fake(([, , method, [params]], socket) => {
    if (method === 'text.generate') sendToken(socket, params['stream'], 0);
  });
  const client = await daemon.client();
  const reason = new Error('enough');
  await failure(client.serverInfo({ signal: AbortSignal.abort(reason) }), 'ERR_CANCELLED');
  await failure(client.generate({ prompt: 'x' }, { signal: AbortSignal.abort() }).result, 'ERR_CANCELLED');
  assert.equal(daemon.methods(), [], 'what is aborted beforehand is not sent');
  const abort = new AbortController();
  const call = client.serverInfo({ signal: abort.signal });
  const generation = client.generate({ prompt: 'x' }, { signal: abort.signal });
  const iterator = generation[Symbol.asyncIterator]();
  const first = await iterator.next();
  assert.ok(!first.done && first.value.token === 0);
  abort.abort(reason);
  assert.is((await failure(call, 'ERR_CANCELLED')).cause, reason);
  await failure(iterator.next(), 'ERR_CANCELLED');
  await failure(generation.result, 'ERR_CANCELLED');
  await sleep(50);
  assert.equal(daemon.methods(), ['server.info', 'text.generate', 'text.cancel']);
});

test('late answers to abandoned calls are dropped', async () => {
  const client = await fake(([, id, method], socket) => {
    setTimeout(() => send(socket, 1, id, null, method === 'tokens.decode' ? { text: 'x' } : {}), 80);
  }).client();
  await failure(client.serverInfo({ timeoutMs: 10 }), 'ERR_TIMEOUT');
  assert.is(await client.decode([1]), 'x');
});

test('leaving the loop cancels; the summary still comes', async () => {
  let stream: unknown;
  let asked = 0;
  const daemon = fake(([, id, method, [params]], socket) => {
    if (method === 'text.generate') {
      asked = id;
      stream = params['stream'];
      sendToken(socket, stream, 0);
    } else {
      send(socket, 1, id, null, { cancelled: true });
      send(socket, 1, asked, null, summary(stream, { stop_reason: 'cancelled' }));
    }
  });
  const client = await daemon.client();
  const generation = client.generate({ prompt: 'x' });
  for await (const event of generation) {
    assert.is(event.t_ns, 1n);
    break;
  }
  assert.is((await generation.result).stop_reason, 'cancelled');
  assert.is(await generation.cancel(), false, 'nothing to cancel any more');
});

test('streams do not mix, and events before the loop begins are kept', async () => {
  const client = await fake(([, id, method, [params]], socket) => {
    if (method !== 'text.generate') return;
    const stream = params['stream'] as number;
    sendToken(socket, stream, 0, { token: stream * 10 });
    sendToken(socket, 999, 0);
    sendToken(socket, 'text', 0);
    setTimeout(
      () => {
        sendToken(socket, stream, 1, { token: stream * 10 + 1 });
        send(socket, 1, id, null, summary(stream));
      },
      40 - stream * 10,
    );
  }).client();
  const all = [1, 2, 3].map(() => client.generate({ prompt: 'x' }));
  await sleep(20);
  const expected = all.map(({ stream }) => [stream * 10, stream * 10 + 1]);
  assert.equal(await Promise.all(all.map(collect)), expected);
});

test('unknown events are ignored; what is no message ends the connection', async () => {
  const client = await fake(([, id], socket) => {
    send(socket, 2, 'news.of.later', [{ x: 1 }]);
    send(socket, 2, 'server.input_ended', [{ pending: 1 }]);
    send(socket, 1, 4_000_000, null, 'an answer to nothing');
    send(socket, 1, id, null, { text: 'x' });
  }).client();
  assert.is(await client.decode([1]), 'x');
  const noRequest = [0x94, 0, 1, 0xa1, 0x61, 0x90];
  for (const bytes of [
    [0xc1],
    [0x01],
    noRequest,
    [0x91, 0xc7, 0xff],
    [0x93, 0x02, 0xaa, ...Buffer.from('text.token'), 0x90],
  ]) {
    const broken = await fake((_, socket) => socket.write(Uint8Array.from(bytes))).client();
    await failure(broken.serverInfo(), 'ERR_RPC_INVALID');
    await broken.closed;
  }
});

test('an answer that does not fit its method is told, the connection goes on', async () => {
  const daemon = fake(([, id, method], socket) =>
    send(socket, 1, id, null, method === 'server.info' ? {} : { text: 'x' }),
  );
  const client = await daemon.client();
  await failure(client.serverInfo(), 'ERR_RPC_INVALID');
  assert.is(await client.decode([1]), 'x');
});

test('a failed generation that nobody awaits is no unhandled rejection', async () => {
  const client = await fake(([, id], socket) =>
    send(socket, 1, id, [102, 'ERR_PROMPT_EMPTY: x'], null),
  ).client();
  client.generate({ prompt: '' });
  await sleep(50);
  assert.is((await failure(collect(client.generate({ prompt: '' })), 'ERR_PROMPT_EMPTY')).message, 'x');
});

test('parameters that MessagePack cannot hold reject their own call', async () => {
  const client = await fake(([, id], socket) => send(socket, 1, id, null, { text: 'x' })).client();
  const loop: Record<string, unknown> = {};
  loop['self'] = loop;
  await failure(client.decode([1], loop), 'ERR_INVALID_ARGUMENT');
  assert.is(await client.decode([1]), 'x');
});

test.run();
