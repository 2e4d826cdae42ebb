import { assert, suite } from '../tools/suite.js';
import { readFileSync } from 'node:fs';
import { goldenFile, missingGolden } from './helpers/golden.js';
import { failureOf, named, readAll, readEverything, withCheckpoint } from './helpers/reads.js';
import { f32Bytes, scratchFolder } from './helpers/torch-file.js';

const folder = scratchFolder();
const test = suite('safetensors');
test.before(() => void folder.write('config.json', '{"vocab_size": 5}'));
test.after(() => folder.remove());
function bytesOf(header: unknown, data: Buffer): Buffer {
  const json = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, data]);
}

const failureFor = (bytes: Buffer) => failureOf(() => readEverything(folder.write('x.safetensors', bytes)));
const f32 = (shape: number[], begin: number, end: number) => ({
  dtype: 'F32',
  shape,
  data_offsets: [begin, end],
});

test('tensors in any order, metadata, scalars and empty tensors', async () => {
  const header = {
    __metadata__: { format: 'pt' },
    'module.b': f32([2, 2], 8, 24),
    a: f32([2], 0, 8),
    none: f32([0, 3], 24, 24),
    s: f32([], 24, 28),
  };
  const path = folder.write('x.safetensors', bytesOf(header, f32Bytes([1, 2, 3, 4, 5, 6, 7])));
  await withCheckpoint(path, async ({ tensors, config, largestStorageBytes }) => {
    assert.equal([...tensors.keys()], ['b', 'a', 'none', 's']);
    assert.equal(Array.from(await readAll(named(tensors, 'b'))), [3, 4, 5, 6]);
    assert.equal(Array.from(await named(tensors, 'b').readRows(1, 2)), [5, 6]);
    assert.equal(Array.from(await readAll(named(tensors, 's'))), [7]);
    assert.is((await readAll(named(tensors, 'none'))).length, 0);
    assert.is(config.vocab_size, 5);
    assert.is(largestStorageBytes, 16);
  });
});

const data = f32Bytes([1, 2, 3, 4]);
const bad: [name: string, header: unknown, found: RegExp][] = [
  [
    'an overlap',
    { a: f32([2], 0, 8), b: f32([2], 4, 12) },
    /tensor "b": expected its data to begin at 8, found 4/,
  ],
  [
    'a hole',
    { a: f32([1], 0, 4), b: f32([2], 8, 16) },
    /tensor "b": expected its data to begin at 4, found 8/,
  ],
  ['data after the last tensor', { a: f32([3], 0, 12) }, /expected 12 bytes of tensor data, found 16/],
  ['a tensor past the end', { a: f32([5], 0, 20) }, /expected 20 bytes of tensor data, found 16/],
  [
    'a size that is not the shape',
    { a: f32([3], 0, 16) },
    /tensor "a": expected 12 bytes for f32 \[3\], found 16/,
  ],
  [
    'offsets in the wrong order',
    { a: f32([4], 16, 0) },
    /tensor "a": expected 16 bytes for f32 \[4\], found -16/,
  ],
  ['a shape beyond exact numbers', { a: f32([2 ** 40, 2 ** 40], 0, 16) }, /tensor "a": expected fewer bytes/],
  ['a negative size', { a: f32([-4], 0, 16) }, /tensor "a": expected a shape/],
  ['a fractional offset', { a: f32([4], 0.5, 16.5) }, /tensor "a": expected data_offsets/],
  [
    'an unknown dtype',
    { a: { dtype: 'F8_E4M3', shape: [16], data_offsets: [0, 16] } },
    /tensor "a": expected a known dtype, found "F8_E4M3"/,
  ],
  ['a field too many', { a: { ...f32([4], 0, 16), stride: 1 } }, /found "stride"/],
  ['a tensor that is no object', { a: [] }, /tensor "a": expected an object/],
  [
    'metadata that is no object of strings',
    { __metadata__: { a: 1 }, a: f32([4], 0, 16) },
    /"__metadata__": expected an object of strings/,
  ],
  ['a header that does not begin an object', ' [7]', /found a file that begins with/],
  ['broken JSON', '{"a": ', /expected a header of JSON, found/],
  ['a header nested without end', '{"a":' + '['.repeat(100_000), /expected a header of JSON/],
  [
    'two tensors of one unwrapped name',
    { a: f32([2], 0, 8), 'module.a': f32([2], 8, 16) },
    /tensor "a": expected once, found again as "module\.a"/,
  ],
];

for (const [name, header, found] of bad)
  test(`${name} is refused`, async () => {
    const error = await failureFor(bytesOf(header, data));
    assert.is(error.code, 'ERR_CHECKPOINT_INVALID');
    assert.match(error.message, found);
  });

test('a header longer than the file, or than the format allows', async () => {
  const bytes = bytesOf({ a: f32([4], 0, 16) }, data);
  for (const length of [BigInt(bytes.length), 0xffff_ffff_ffff_ffffn]) {
    bytes.writeBigUInt64LE(length);
    assert.match((await failureFor(bytes)).message, /expected a header of at most \d+ bytes, found/);
  }
});

test('text that is no UTF-8 in the header', async () => {
  const bytes = bytesOf('{"a\xff": 1}', data);
  bytes[11] = 0xff;
  assert.match((await failureFor(bytes)).message, /expected a header of JSON/);
});

test('an integer tensor is refused by name when read', async () => {
  const error = await failureFor(
    bytesOf({ steps: { dtype: 'I64', shape: [2], data_offsets: [0, 16] } }, data),
  );
  assert.is(error.code, 'ERR_CHECKPOINT_TENSOR');
  assert.match(error.message, /tensor "steps": .*found i64/);
});

test.needs(
  missingGolden('c_no_sparse_attn', 'model.safetensors'),
  'a real file cut at many lengths is refused',
  async () => {
    const whole = readFileSync(goldenFile('c_no_sparse_attn', 'model.safetensors'));
    for (let i = 0; i < 60; i++) {
      const error = await failureFor(whole.subarray(0, Math.floor((whole.length * i) / 60)));
      assert.is(error.code, 'ERR_CHECKPOINT_INVALID', error.message);
    }
  },
);

test.run();
