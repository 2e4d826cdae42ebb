/** The daemon's end of one connection, on a real socket. */
import { once } from 'node:events';
import net from 'node:net';
import { pino } from 'pino';
import { Connection, type ConnectionSettings } from '../../daemon/rpc/connection.js';
import { assert, suite } from '../tools/suite.js';
import { socketPath } from './helpers/process.js';
import { RawClient } from './helpers/raw-client.js';

const test = suite('connection');
const server = net.createServer({ allowHalfOpen: true });
const path = socketPath();
const usual: ConnectionSettings = {
  limits: { maxFrameBytes: 4096, maxDepth: 8, maxItems: 64 },
  maxUnreadBytes: 4096,
  slowReaderMs: 1000,
  messageMs: 60_000,
};

interface Ends {
  raw: RawClient;
  connection: Connection;
  /** The daemon's end has closed. */
  closed: Promise<unknown>;
  log: string[];
}

/** A client, and a daemon's end that answers each request with as many bytes as it asks for. */
async function open(): Promise<Ends> {
  const [[socket], raw] = (await Promise.all([once(server, 'connection'), RawClient.connect(path)])) as [
    [net.Socket],
    RawClient,
  ];
  const log: string[] = [];
  const connection = new Connection(socket, {
    id: 1,
    settings: usual,
    log: pino({ level: 'warn' }, { write: (line: string) => log.push(line) }),
    onMessage: (from, message) => {
      const [, id, , [bytes]] = message as [0, number, string, [number]];
      from.begin(id);
      from.answer(id, 'x'.repeat(bytes));
    },
    onRelieved: () => undefined,
  });
  return { raw, connection, closed: once(socket, 'close'), log };
}

test.before(async () => {
  server.listen(path);
  await once(server, 'listening');
});
test.after(() => void server.close());

test('what is left for a client that has ended its side is sent as long as it reads', async () => {
  const { raw, log } = await open();
  raw.socket.pause();
  raw.send(0, 1, 'text', [3_600_000]);
  raw.socket.end();
  const began = performance.now();
  while (raw.messages.length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const piece: unknown = raw.socket.read(Math.min(60_000, raw.socket.readableLength));
    if (piece === null) raw.socket.read(0);
    assert.not.ok(raw.closed, `cut off: ${log.join()}`);
  }
  assert.ok(
    performance.now() - began > usual.slowReaderMs,
    'it must take longer than one that stands still may',
  );
  assert.is((raw.messages[0]?.[3] as string).length, 3_600_000);
  raw.socket.resume();
  await raw.gone();
  assert.equal(log, []);
});

test('one that has ended its side and does not read is dropped', async () => {
  const { raw, closed, log } = await open();
  raw.socket.pause();
  raw.send(0, 1, 'text', [3_600_000]);
  raw.socket.end();
  await closed;
  assert.is(log.length, 1);
  assert.match(log[0] ?? '', /dropping a client/);
  raw.close();
});

test('new limits are in force from the next message on', async () => {
  const { raw, connection } = await open();
  const limits = { ...usual.limits, maxFrameBytes: 1024 };
  raw.send(0, 1, 'text', [1, 'x'.repeat(2000)]);
  await raw.result(1);
  // This one has begun when the limit is lowered.
  const half = Buffer.from([0x94, 0, 2, 0xa1, 0x61, 0x92, 1, 0xda, 2000 >> 8, 2000 & 0xff]);
  raw.write(half);
  await raw.until('its first bytes', () => Reflect.get(connection, 'messageTimer') !== undefined);
  connection.set({ ...usual, limits });
  raw.write(Buffer.alloc(2000, 'x'));
  await raw.result(2);
  raw.send(0, 3, 'text', [1, 'x'.repeat(900)]);
  await raw.result(3);
  raw.send(0, 4, 'text', [1, 'x'.repeat(2000)]);
  assert.match((await raw.error(4))[1], /^ERR_RPC_TOO_LARGE: expected a message of at most 1024 bytes/);
  await raw.gone();
});

test.run();
