import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  encodeFinite,
  encodeMessage,
  FrameError,
  FrameReader,
  serverWireLimits,
} from '../../client/protocol/index.js';
import { assert, suite } from '../tools/suite.js';
import { Random, randomValue } from './random-values.js';

const test = suite('frames');

function readAll(reader: FrameReader): unknown[] {
  const values: unknown[] = [];
  for (let frame = reader.next(); frame; frame = reader.next()) values.push(frame.value);
  return values;
}

function failure(bytes: number[]): FrameError {
  const reader = new FrameReader(serverWireLimits);
  reader.push(Uint8Array.from(bytes));
  try {
    readAll(reader);
  } catch (error) {
    if (error instanceof FrameError) return error;
    throw error;
  }
  throw new Error('expected a FrameError');
}

/** Of buffers that are still in use. */
function bytesAfterCollection(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().arrayBuffers;
}

/** What a value is after its way over the wire. */
function arrived(value: unknown): unknown {
  if (typeof value === 'bigint') return value >= -(2n ** 53n) && value <= 2n ** 53n ? Number(value) : value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return value.map(arrived);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, arrived(item)]));
  }
  return value;
}

test('messages come out as they went in, however the bytes are cut', () => {
  const random = new Random(11);
  const sent = Array.from({ length: 400 }, () => [randomValue(random)]);
  const bytes = Buffer.concat(sent.map(encodeMessage));
  const reader = new FrameReader(serverWireLimits);
  const received: unknown[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = random.pick([1, 2, 7, 100, 5000, 70_000]);
    reader.push(bytes.subarray(at, at + size));
    received.push(...readAll(reader));
    at += size;
  }
  assert.is(reader.pendingBytes, 0);
  assert.equal(arrived(received), arrived(sent));
});

test('one byte at a time, and a thousand messages at once', () => {
  const message = [0, 7, 'server.info', [{}]];
  const reader = new FrameReader(serverWireLimits);
  for (const byte of encodeMessage(message)) {
    assert.is(reader.next(), null);
    reader.push(Uint8Array.of(byte));
  }
  assert.equal(readAll(reader), [message]);
  reader.push(Buffer.concat(new Array<Buffer>(1000).fill(encodeMessage(message))));
  assert.is(readAll(reader).length, 1000);
});

test('integers stay integers on the wire, and ids of 64 bits come back as numbers', () => {
  assert.is(encodeMessage([2 ** 32]).toString('hex'), '91d30000000100000000');
  assert.is(encodeMessage([-(2 ** 31) - 1]).toString('hex'), '91d3ffffffff7fffffff');
  assert.is(encodeMessage([0xffff_ffff]).toString('hex'), '91ceffffffff');
  assert.is(encodeMessage([2n ** 64n - 1n]).toString('hex'), '91cfffffffffffffffff');
  assert.is(encodeMessage([1.5]).toString('hex'), '91cb3ff8000000000000');
  assert.is(encodeMessage([Int32Array.of(1, -2)]).toString('hex'), '919201fe');
  const reader = new FrameReader(serverWireLimits);
  reader.push(Uint8Array.of(0x91, 0xcf, 0, 0, 0, 0, 0, 0, 0, 5));
  assert.equal(readAll(reader), [[5]]);
});

test('undefined keys are left out and maps are as small as they can be', () => {
  assert.is(encodeMessage([{ a: 1, b: undefined }]).toString('hex'), '9181a16101');
  assert.is(encodeMessage([{}]).toString('hex'), '9180');
});

test('bad bytes name the request that they began, when its header was whole', () => {
  const id = (bytes: number[]): number | null => failure(bytes).messageId;
  assert.is(id([0x94, 0x00, 0x07, 0xc1]), 7);
  assert.is(id([0x94, 0x00, 0xcc, 0xff, 0xc1]), 255);
  assert.is(id([0x94, 0x00, 0xcd, 0x01, 0x02, 0xc1]), 0x102);
  assert.is(id([0x94, 0x00, 0xce, 0xff, 0xff, 0xff, 0xff, 0xc1]), 0xffff_ffff);
  assert.is(id([0x94, 0x01, 0x07, 0xc1]), null, 'an answer is no request');
  assert.is(id([0x93, 0x02, 0xa1, 0x61, 0xc1]), null);
  assert.is(id([0xc1]), null);
  assert.is(id([0x94, 0x00, 0xff, 0xc1]), null, 'a negative id is none');
  assert.is(failure([0x94, 0x00, 0x07, 0xdb, 0xff, 0xff, 0xff, 0xff]).code, 'ERR_RPC_TOO_LARGE');
  assert.is(failure([0x94, 0x00, 0x07, 0xc1]).code, 'ERR_RPC_INVALID');
});

test('records, regular expressions and other extensions of the codec never reach it', () => {
  for (const bytes of [
    [0xd4, 0x72, 0x40, 0x91, 0xa1, 0x61, 0x01],
    [0xc7, 0x01, 0x78, 0x01],
    [0xd6, 0xff, 0, 0, 0, 0],
  ]) {
    assert.is(failure(bytes).code, 'ERR_RPC_INVALID');
  }
});

test('a key named __proto__ changes no prototype', () => {
  const reader = new FrameReader(serverWireLimits);
  const key = Buffer.from('__proto__');
  reader.push(
    Buffer.concat([Buffer.of(0x91, 0x81, 0xa0 | key.length), key, Buffer.of(0x81, 0xa1, 0x78, 0x01)]),
  );
  const [[value]] = readAll(reader) as [[Record<string, unknown>]];
  assert.is(value['x'], undefined);
  assert.is(({} as Record<string, unknown>)['x'], undefined);
});

test('memory follows the unfinished message, not what went through', () => {
  const reader = new FrameReader(serverWireLimits);
  const message = encodeMessage(['x'.repeat(1000)]);
  for (let i = 0; i < 20_000; i++) {
    reader.push(message);
    assert.ok(reader.next());
  }
  const held: unknown = Reflect.get(reader, 'buffer');
  assert.ok(held instanceof Uint8Array && held.length <= 16_384);
});

test('the daemon encodes no number that is not finite, however deep', () => {
  for (const bad of [NaN, Infinity, -Infinity]) {
    for (const message of [[bad], [{ a: [1, { b: bad }] }], [Float32Array.of(0, bad)]])
      assert.throws(() => encodeFinite(message), /expected finite numbers, found -?(NaN|Infinity)/);
  }
  assert.equal(encodeFinite([0, 2 ** 40, { a: 1.5 }]), encodeMessage([0, 2 ** 40, { a: 1.5 }]));
});

test('a large message leaves no large buffer behind', () => {
  const message = encodeMessage(['x'.repeat(1_000_000)]);
  const readers = Array.from({ length: 64 }, () => new FrameReader(serverWireLimits));
  const before = bytesAfterCollection();
  for (const reader of readers) {
    reader.push(message);
    assert.is(readAll(reader).length, 1);
  }
  const kept = bytesAfterCollection() - before;
  assert.ok(kept < 8e6, `${String(kept)} bytes are kept by ${String(readers.length)} readers`);
});

test.run();
