import { Unpackr } from 'msgpackr';
import {
  encodeMessage,
  MessageScanner,
  type ScanResult,
  type WireLimits,
} from '../../client/protocol/index.js';
import { assert, suite } from '../tools/suite.js';
import { Random, randomValue } from './random-values.js';

const test = suite('message scanner');
const wide: WireLimits = { maxFrameBytes: 1 << 20, maxDepth: 32, maxItems: 4096 };

function scan(bytes: Uint8Array | number[], limits: WireLimits = wide): ScanResult {
  return new MessageScanner(limits).scan(Uint8Array.from(bytes));
}

function stateOf(bytes: Uint8Array | number[], limits?: WireLimits): string {
  return scan(bytes, limits).state;
}

test('finds the end of whatever the encoder writes, and of nothing shorter', () => {
  const random = new Random(1);
  for (let round = 0; round < 2000; round++) {
    const bytes = encodeMessage([randomValue(random)]);
    const tail = random.bytes(random.below(4));
    const result = scan(Buffer.concat([bytes, tail]));
    assert.equal(
      result,
      { state: 'done', end: bytes.length, utf8: true },
      `round ${String(round)} of seed 1`,
    );
    const cut = random.below(bytes.length);
    assert.is(stateOf(bytes.subarray(0, cut)), 'more', `cut at ${String(cut)} in round ${String(round)}`);
  }
});

test('resumes at any split with the same result', () => {
  const random = new Random(2);
  for (let round = 0; round < 300; round++) {
    const bytes = encodeMessage([randomValue(random), 'end']);
    const scanner = new MessageScanner(wide);
    for (let length = 0; length < bytes.length; length += 1 + random.below(5)) {
      assert.is(scanner.scan(bytes.subarray(0, length)).state, 'more');
    }
    assert.equal(scanner.scan(bytes), { state: 'done', end: bytes.length, utf8: true });
    scanner.reset();
    assert.is(scanner.scan(bytes).state, 'done');
  }
});

test('agrees with the decoder on arbitrary bytes: what it calls whole decodes to one value', () => {
  const random = new Random(3);
  const decoder = new Unpackr({ useRecords: false, mapsAsObjects: false });
  let whole = 0;
  for (let round = 0; round < 20_000; round++) {
    const bytes = random.bytes(1 + random.below(24));
    const result = scan(bytes);
    if (result.state !== 'done') continue;
    whole++;
    assert.is(
      decoder.unpackMultiple(bytes.slice(0, result.end)).length,
      1,
      Buffer.from(bytes).toString('hex'),
    );
  }
  assert.ok(whole > 5000, `only ${String(whole)} of 20000 were whole`);
});

test('every first byte has its size', () => {
  const fixed: Record<number, number> = {
    0xc0: 1,
    0xc2: 1,
    0xc3: 1,
    0xca: 5,
    0xcb: 9,
    0xcc: 2,
    0xcd: 3,
    0xce: 5,
    0xcf: 9,
    0xd0: 2,
    0xd1: 3,
    0xd2: 5,
    0xd3: 9,
  };
  const length: Record<number, number> = { 0xc4: 1, 0xc5: 2, 0xc6: 4, 0xd9: 1, 0xda: 2, 0xdb: 4 };
  const items: Record<number, [number, number]> = { 0xdc: [2, 1], 0xdd: [4, 1], 0xde: [2, 2], 0xdf: [4, 2] };
  for (let first = 0; first < 256; first++) {
    // The declared length or count, where there is one, is 3; every payload byte is the integer 0x01.
    const bytes = Buffer.alloc(40, 1);
    bytes[0] = first;
    let expected = fixed[first];
    if (first < 0x80 || first >= 0xe0) expected = 1;
    else if (first < 0x90) expected = 1 + 2 * (first & 15);
    else if (first < 0xa0) expected = 1 + (first & 15);
    else if (first < 0xc0) expected = 1 + (first & 31);
    const lengthBytes = length[first];
    if (lengthBytes !== undefined) {
      bytes.writeUIntBE(3, 1, lengthBytes);
      expected = 1 + lengthBytes + 3;
    }
    const counted = items[first];
    if (counted) {
      bytes.writeUIntBE(3, 1, counted[0]);
      expected = 1 + counted[0] + 3 * counted[1];
    }
    const result = scan(bytes);
    if (expected === undefined) assert.is(result.state, 'bad', first.toString(16));
    else assert.equal(result, { state: 'done', end: expected, utf8: true }, first.toString(16));
  }
});

test('declared sizes are refused before they arrive', () => {
  const tooLarge = scan([0xc6, 0xff, 0xff, 0xff, 0xff]);
  assert.ok(tooLarge.state === 'bad' && tooLarge.tooLarge);
  const text = scan([0xdb, 0x00, 0x10, 0x00, 0x00]);
  assert.ok(
    text.state === 'bad' && text.tooLarge,
    'a string of exactly the frame size does not fit with its header',
  );
  assert.is(stateOf([0xdb, 0x00, 0x0f, 0xff, 0xfb]), 'more');
  const array = scan([0xdd, 0x00, 0x00, 0x10, 0x01]);
  assert.ok(array.state === 'bad' && !array.tooLarge && array.reason.includes('4097'));
  assert.is(stateOf([0xdd, 0x00, 0x00, 0x10, 0x00]), 'more');
  assert.is(stateOf([0xdf, 0x00, 0x00, 0x10, 0x01]), 'bad');
  const few = { maxFrameBytes: 100, maxDepth: 32, maxItems: 4096 };
  assert.is(stateOf([0xdc, 0x00, 0x62], few), 'bad', '98 items of a byte at least do not fit into 100 bytes');
  assert.is(stateOf([0xdc, 0x00, 0x61], few), 'more');
});

test('nesting counts arrays and maps, open ones only', () => {
  const nested = (levels: number): number[] => [...new Array<number>(levels).fill(0x91), 0x01];
  assert.is(stateOf(nested(32)), 'done');
  assert.is(stateOf(nested(33)), 'bad');
  assert.is(stateOf([...new Array<number>(32).fill(0x81).flatMap((map) => [map, 0xa0]), 0x01]), 'done');
  assert.is(stateOf([...new Array<number>(33).fill(0x81).flatMap((map) => [map, 0xa0]), 0x01]), 'bad');
  const beside = [0xdc, 0x03, 0xe8, ...new Array<number>(1000).fill(0x90)];
  assert.is(stateOf(beside), 'done', 'a thousand empty arrays beside each other are two levels deep');
  assert.is(stateOf(new Array<number>(200_000).fill(0x91)), 'bad');
});

test('tells text that is not UTF-8, and only text', () => {
  assert.equal(scan([0xa2, 0xc3, 0xa9]), { state: 'done', end: 3, utf8: true });
  assert.equal(scan([0xa2, 0xc3, 0x28]), { state: 'done', end: 3, utf8: false });
  assert.equal(scan([0xc4, 0x02, 0xc3, 0x28]), { state: 'done', end: 4, utf8: true });
  assert.equal(scan([0x92, 0xa1, 0xff, 0xa1, 0x61]), { state: 'done', end: 5, utf8: false });
  const scanner = new MessageScanner(wide);
  assert.is(scanner.scan(Uint8Array.of(0xa1)).state, 'more');
  assert.equal(scanner.scan(Uint8Array.of(0xa1, 0xff)), { state: 'done', end: 2, utf8: false });
  scanner.reset();
  assert.equal(scanner.scan(Uint8Array.of(0xa1, 0x61)), { state: 'done', end: 2, utf8: true });
});

test('work is linear: a megabyte that arrives byte by byte', () => {
  const bytes = encodeMessage([Array.from({ length: 4000 }, () => 'x'.repeat(250))]);
  const scanner = new MessageScanner(wide);
  const started = performance.now();
  for (let length = 1; length < bytes.length; length++) {
    if (scanner.scan(bytes.subarray(0, length)).state !== 'more')
      throw new Error(`ended at ${String(length)}`);
  }
  assert.is(scanner.scan(bytes).state, 'done');
  const seconds = (performance.now() - started) / 1000;
  assert.ok(seconds < 20, `took ${String(seconds)} s`);
});

test.run();
