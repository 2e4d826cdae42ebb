import { encodeMessage } from '../../client/protocol/index.js';
import { assert, suite } from '../tools/suite.js';
import { Random } from '../protocol/random-values.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { DaemonProcess } from './helpers/process.js';
import { RawClient } from './helpers/raw-client.js';

const test = suite('wire');
let daemon: DaemonProcess;
const opened: RawClient[] = [];

async function open(): Promise<RawClient> {
  const client = await RawClient.connect(daemon.path);
  opened.push(client);
  return client;
}

/** Whatever a test did: others are served as if nothing had happened. */
async function stillServes(): Promise<void> {
  const client = await open();
  client.send(0, 1, 'server.info', []);
  assert.is((await client.result(1))['pid'], daemon.pid);
}

test.before(async () => {
  const model = await goldenModel(smallCase);
  daemon = await DaemonProcess.start(['--model', model, '--message-ms', '1500', '--max-connections', '16']);
});
test.afterEach(() => {
  for (const client of opened.splice(0)) client.close();
});
test.after(async () => {
  assert.is((await daemon.stop()).code, 0, daemon.stderr);
});

test('one byte a write', async () => {
  const client = await open();
  client.socket.setNoDelay(true);
  for (const byte of encodeMessage([0, 4_000_000_000, 'server.info', [{}]])) {
    client.write([byte]);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.is((await client.result(4_000_000_000))['protocol_version'], 1);
});

test('a thousand messages in one write, each answered once', async () => {
  const client = await open();
  const ids = Array.from({ length: 1000 }, (_, i) => i * 3);
  const methods = ['server.info', 'model.list', 'tokens.decode'];
  client.write(
    Buffer.concat(
      ids.map((id) =>
        encodeMessage([0, id, methods[(id % 9) / 3] ?? '', id % 9 === 6 ? [{ tokens: [1] }] : []]),
      ),
    ),
  );
  await client.until('1000 answers', () => client.messages.length >= 1000);
  assert.equal(
    client.messages.map((message) => message[1] as number).sort((a, b) => a - b),
    ids,
  );
});

test('generations in the same write as their cancels and other calls', async () => {
  const client = await open();
  client.write(
    Buffer.concat([
      encodeMessage([0, 1, 'text.generate', [{ stream: 'a', tokens: [1], max_tokens: 100 }]]),
      encodeMessage([0, 2, 'text.cancel', [{ stream: 'a' }]]),
      encodeMessage([0, 3, 'text.cancel', [{ stream: 'a' }]]),
    ]),
  );
  assert.is((await client.result(1))['stop_reason'], 'cancelled');
  assert.equal(await client.result(2), { cancelled: true });
  const again = (await client.result(3))['cancelled'];
  assert.type(again, 'boolean');
});

test('a message that cannot be decoded is answered if it has an id, then the connection ends', async () => {
  const client = await open();
  client.write([0x94, 0x00, 0x07, 0xc1]);
  const [number, text] = await client.error(7);
  assert.is(number, 400);
  assert.match(text, /^ERR_RPC_INVALID: .*0xc1/);
  await client.gone();
  const nameless = await open();
  nameless.write([0xc1]);
  await nameless.gone();
  const [event] = nameless.events('server.closing');
  assert.match((event?.['error'] as [number, string])[1], /^ERR_RPC_INVALID/);
  await stillServes();
});

test('too large, too deep, too many: refused from the header alone', async () => {
  const cases: [name: string, bytes: number[], code: number][] = [
    ['a text of 4 GiB', [0x94, 0x00, 0x01, 0xdb, 0xff, 0xff, 0xff, 0xff], 402],
    ['binary of 2 MiB', [0x94, 0x00, 0x01, 0xc6, 0x00, 0x20, 0x00, 0x00], 402],
    ['an array of 2^32 - 1', [0x94, 0x00, 0x01, 0xdd, 0xff, 0xff, 0xff, 0xff], 400],
    ['a map of 5000', [0x94, 0x00, 0x01, 0xde, 0x13, 0x88], 400],
    ['100000 nested arrays', [0x94, 0x00, 0x01, ...new Array<number>(100_000).fill(0x91)], 400],
    ['33 nested maps', [0x94, 0x00, 0x01, ...new Array<number[]>(33).fill([0x81, 0xa0]).flat()], 400],
    ['an extension', [0x94, 0x00, 0x01, 0xd4, 0x72, 0x40], 400],
  ];
  for (const [name, bytes, code] of cases) {
    const client = await open();
    client.write(bytes);
    assert.is((await client.error(1))[0], code, name);
    await client.gone();
    client.close();
  }
  await stillServes();
});

test('a megabyte is taken, a byte more is not', async () => {
  const max = 1 << 20;
  const overhead =
    encodeMessage([0, 1, 'tokens.encode', [{ text: 'x'.repeat(max - 100) }]]).length - (max - 100);
  const client = await open();
  client.send(0, 1, 'tokens.encode', [{ text: 'x'.repeat(max - overhead) }]);
  assert.match((await client.error(1))[1], /^ERR_TOKENIZER_MISSING/);
  client.send(0, 2, 'tokens.encode', [{ text: 'x'.repeat(max - overhead + 1) }]);
  assert.match((await client.error(2))[1], /^ERR_RPC_TOO_LARGE/);
  await client.gone();
});

test('every byte value as the only one, and in front of a message', async () => {
  for (let byte = 0; byte < 256; byte++) {
    const client = await open();
    client.write([byte]);
    client.write(encodeMessage([0, 1, 'server.info', []]));
    client.socket.end();
    await client.gone();
    client.close();
  }
  await stillServes();
});

test('random bytes and damaged messages end connections, never the daemon', async () => {
  const random = new Random(77);
  const whole = encodeMessage([
    0,
    1,
    'text.generate',
    [{ stream: 1, tokens: [1, 2], max_tokens: 2, stop: [] }],
  ]);
  for (let round = 0; round < 300; round++) {
    const client = await open();
    const damaged = Uint8Array.from(whole);
    for (let i = 0; i <= random.below(4); i++) damaged[random.below(damaged.length)] = random.below(256);
    client.write(round % 3 === 0 ? random.bytes(1 + random.below(200)) : damaged);
    client.socket.end();
    await client.gone();
    client.close();
  }
  await stillServes();
});

test('decodable requests that are none are answered and the connection goes on', async () => {
  const client = await open();
  client.send(0, 1, 'no.such', [{}]);
  assert.match((await client.error(1))[1], /^ERR_METHOD_UNKNOWN: "no.such"/);
  client.send(0, 2, 'toString', [{}]);
  assert.match((await client.error(2))[1], /^ERR_METHOD_UNKNOWN/);
  client.send(0, 3, 'm'.repeat(65), [{}]);
  assert.match((await client.error(3))[1], /^ERR_RPC_INVALID/);
  client.send(0, 4, 7, [{}]);
  assert.match((await client.error(4))[1], /^ERR_RPC_INVALID/);
  client.send(0, 5, 'server.info', {});
  assert.match((await client.error(5))[1], /^ERR_RPC_INVALID: server.info: expected an array/);
  client.send(0, 6, 'server.info', [{}, {}]);
  assert.match((await client.error(6))[1], /^ERR_INVALID_ARGUMENT: .*found 2 parameters/);
  client.send(0, 7, 'server.info');
  assert.match((await client.error(7))[1], /^ERR_RPC_INVALID: expected 4 items/);
  client.send(0, 8, 'server.info', [{ nonsense: 1 }]);
  assert.match(
    (await client.error(8))[1],
    /^ERR_INVALID_ARGUMENT: server.info: unknown parameter "nonsense"/,
  );
  client.write(
    Buffer.concat([
      Buffer.from('940009ab', 'hex'),
      Buffer.from('server.info'),
      Buffer.from('91a2fffe', 'hex'),
    ]),
  );
  assert.match((await client.error(9))[1], /^ERR_RPC_INVALID: .*UTF-8/);
  client.send(0, 10, 'server.info', []);
  assert.ok(await client.result(10));
});

test('errors are exactly [number, "CODE: message"] beside a nil result', async () => {
  const client = await open();
  client.send(0, 1, 'model.load', [{ model: 'x' }]);
  const answer = await client.answer(1);
  assert.is(answer.length, 4);
  assert.is(answer[3], null);
  assert.is((answer[2] as unknown[]).length, 2);
  assert.equal((answer[2] as unknown[])[0], 304);
});

test('notifications are never answered; text.cancel works as one', async () => {
  const client = await open();
  client.send(2, 'nvim_error_event', [0, 'Invalid method: text.token']);
  client.send(2, 'text.cancel', ['not a map']);
  client.send(2, 'server.info', [{}]);
  client.send(1, 99, null, 'an answer to nothing');
  client.send(0, 1, 'text.generate', [{ stream: 5, tokens: [1], max_tokens: 150 }]);
  client.send(2, 'text.cancel', [{ stream: 5 }]);
  assert.is((await client.result(1))['stop_reason'], 'cancelled');
  assert.equal(
    client.messages.filter((message) => message[0] === 1).map((message) => message[1]),
    [1],
  );
});

test('an id in flight is not taken twice; the first request goes on', async () => {
  const client = await open();
  client.send(0, 1, 'text.generate', [{ stream: 1, tokens: [1], max_tokens: 20 }]);
  client.send(0, 1, 'server.info', []);
  await client.until('two answers', () => client.messages.filter((message) => message[0] === 1).length === 2);
  const [first, second] = client.messages.filter((message) => message[0] === 1);
  assert.match(String((first?.[2] as unknown[])[1]), /in flight/);
  assert.is((second?.[3] as Record<string, unknown>)['generated_tokens'], 20);
  client.send(0, 1, 'server.info', []);
  await client.until('a third', () => client.messages.filter((message) => message[0] === 1).length === 3);
});

test('half-close: what was asked is answered, then the daemon ends the connection', async () => {
  const client = await open();
  // Long enough to be under way when the end of the input is seen.
  const params = { stream: 1, tokens: [1], max_tokens: 180, ignore_eos: true };
  client.send(0, 1, 'text.generate', [params]);
  client.send(0, 2, 'server.info', []);
  client.socket.end();
  await client.gone();
  assert.is((await client.result(1))['generated_tokens'], 180);
  assert.is(client.events('text.token').length, 180);
  assert.ok(await client.result(2));
  assert.equal(client.events('server.input_ended'), [{ pending: 1 }]);
  const unfinished = await open();
  unfinished.write([0x94, 0x00]);
  unfinished.socket.end();
  await unfinished.gone();
  assert.match((unfinished.events('server.closing')[0]?.['error'] as string[])[1] ?? '', /end of the input/);
});

test('a message that does not end in time ends its connection', async () => {
  const client = await open();
  client.write([0x94, 0x00, 0x01]);
  await client.gone();
  assert.match((client.events('server.closing')[0]?.['error'] as string[])[1] ?? '', /^ERR_TIMEOUT/);
  assert.match(daemon.stderr, /closing a connection that broke the protocol/);
});

test('connections over the cap are told so, and there is room again when some end', async () => {
  const clients: RawClient[] = [];
  for (let i = 0; i < 17; i++) clients.push(await open());
  const turned = await Promise.race(clients.map((client) => client.gone().then(() => client)));
  assert.equal((turned.events('server.closing')[0]?.['error'] as unknown[])[0], 403);
  for (const client of clients) client.close();
  await new Promise((resolve) => setTimeout(resolve, 100));
  await stillServes();
});

test.run();
