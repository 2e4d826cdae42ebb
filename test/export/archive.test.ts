import { assert, suite } from '../tools/suite.js';
import { readFileSync } from 'node:fs';
import { goldenFile, missingGolden } from './helpers/golden.js';
import { failureOf, named, readAll, readEverything, withCheckpoint } from './helpers/reads.js';
import { f32Bytes, scratchFolder, torchBytes, type TorchFileSpec } from './helpers/torch-file.js';
import type { EntryOptions } from './helpers/zip-writer.js';

const folder = scratchFolder();
const test = suite('archives');
test.after(() => folder.remove());
const values = Array.from({ length: 1000 }, (_, i) => Math.sin(i));
const tensors: TorchFileSpec['tensors'] = [
  ['w', { dtype: 'f32', key: '0', elements: 1000, shape: [10, 100] }],
];

function bytesOf(rest: Partial<TorchFileSpec> = {}): Buffer {
  return torchBytes({ tensors, storages: [['0', [f32Bytes(values)]]], ...rest });
}

const failureFor = (bytes: Buffer) => failureOf(() => readEverything(folder.write('x.pt', bytes)));

for (const deflate of [false, true])
  test(`a ${deflate ? 'deflated' : 'stored'} entry is read, and a flipped bit in it is found`, async () => {
    const bytes = bytesOf({ options: { deflate } });
    await withCheckpoint(folder.write('good.pt', bytes), async (checkpoint) =>
      assert.equal(
        Array.from(await readAll(named(checkpoint.tensors, 'w'))),
        Array.from(Float32Array.from(values)),
      ),
    );
    const dataAt = bytes.indexOf('archive/data/0') + 600;
    for (let bit = 0; bit < 64; bit++) {
      const flipped = Buffer.from(bytes);
      const at = dataAt + bit * 37;
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (bit % 8));
      const error = await failureFor(flipped);
      assert.is(error.code, 'ERR_CHECKPOINT_INVALID');
      if (!deflate)
        assert.match(error.message, /x\.pt: entry "archive\/data\/0": expected CRC-32 [0-9a-f]{8} .*found/);
    }
  });

test('every row is behind the checksum, a single one too', async () => {
  const bytes = bytesOf();
  const last = bytes.indexOf(f32Bytes([values[999] ?? 0]));
  bytes[last] = (bytes[last] ?? 0) ^ 1;
  await withCheckpoint(folder.write('x.pt', bytes), async (checkpoint) => {
    const error = await failureOf(() => named(checkpoint.tensors, 'w').readRows(0, 1));
    assert.match(error.message, /CRC-32/);
  });
});

test('entries with zip64 sizes and offsets are read; sizes beyond exact numbers are refused', async () => {
  for (const deflate of [false, true])
    await readEverything(folder.write('x.pt', bytesOf({ options: { zip64: true, deflate } })));
  for (const sizeBytes of [2 ** 53, 2 ** 62]) {
    const error = await failureFor(
      bytesOf({ options: { zip64: true, deflate: true, claim: { sizeBytes } } }),
    );
    assert.is(error.code, 'ERR_CHECKPOINT_INVALID');
    assert.match(error.message, /found a claim of/);
  }
});

const lies: [name: string, options: EntryOptions, found: RegExp][] = [
  ['a wrong checksum', { claim: { crc: 1 } }, /expected CRC-32 00000001/],
  [
    'a size too large for a stored entry',
    { claim: { sizeBytes: 5000 } },
    /expected a complete zip archive, found compressed\/uncompressed size mismatch/,
  ],
  [
    'a deflated size too small',
    { deflate: true, claim: { sizeBytes: 50 } },
    /expected deflated data, found more than 50 bytes/,
  ],
  [
    'a deflated size too large',
    { deflate: true, claim: { sizeBytes: 5000 } },
    /expected 5000 bytes inflated, found/,
  ],
  [
    'a deflated size that no data could give',
    { deflate: true, claim: { sizeBytes: 0xfffffff0 } },
    /expected at most \d+ bytes inflated, found a claim of 4294967280/,
  ],
  ['an encrypted entry', { claim: { flags: 0x0809 } }, /found/],
  [
    'another compression method',
    { claim: { method: 93 } },
    /expected stored or deflated data, found compression method 93/,
  ],
  ['stored data called deflated', { claim: { method: 8 } }, /expected deflated data, found/],
];

for (const [name, options, found] of lies)
  test(`${name} is refused`, async () => {
    const error = await failureFor(bytesOf({ options }));
    assert.is(error.code, 'ERR_CHECKPOINT_INVALID');
    assert.match(error.message, found);
  });

test('byte order: little is accepted, big refused', async () => {
  const order = (text: string) => bytesOf({ extraEntries: [['byteorder', Buffer.from(text)]] });
  await readEverything(folder.write('x.pt', order('little')));
  const error = await failureFor(order('big'));
  assert.match(error.message, /entry "archive\/byteorder": expected "little", found "big"/);
});

test('entries that newer writers add are ignored, doubled ones refused', async () => {
  const extraEntries: [string, Buffer][] = [['.format_version', Buffer.from('1')], ['.data/serialization_id', Buffer.from('7')]]; // prettier-ignore
  await readEverything(folder.write('x.pt', bytesOf({ extraEntries })));
  assert.match(
    (await failureFor(bytesOf({ extraEntries: [['data/0', Buffer.from('1')]] }))).message,
    /two entries "archive\/data\/0"/,
  );
  const second: [string, Buffer][] = [['../evil', Buffer.alloc(0)]];
  assert.match((await failureFor(bytesOf({ extraEntries: second }))).message, /invalid relative path/);
});

test('offsets beyond what a file can have are an error, not a crash', async () => {
  for (const field of ['PK\x06\x07', 'PK\x06\x06']) {
    const bytes = bytesOf();
    const at = bytes.lastIndexOf(Buffer.from(field, 'latin1'));
    bytes.writeBigUInt64LE(0xffff_ffff_ffff_ffffn, at + (field === 'PK\x06\x07' ? 8 : 48));
    assert.is((await failureFor(bytes)).code, 'ERR_CHECKPOINT_INVALID');
  }
});

test('other files are named for what they are', async () => {
  const found: [Buffer, RegExp][] = [
    [Buffer.alloc(0), /found an empty file/],
    [Buffer.from('\x80\x02\x8a\x0al\xfc', 'latin1'), /found a bare pickle/],
    [Buffer.from('hello world'), /begins with the bytes 68656c6c/],
    [Buffer.from('PK\x03\x04'), /expected a complete zip archive, found End of central directory/],
  ];
  for (const [bytes, message] of found) assert.match((await failureFor(bytes)).message, message);
  assert.is((await failureOf(() => readEverything(folder.path('none.pt')))).code, 'ERR_FILE_NOT_FOUND');
  assert.is((await failureOf(() => readEverything(folder.path('.')))).code, 'ERR_FILE_IO');
});

test.needs(
  missingGolden('c_no_sparse_attn', 'model.pt'),
  'a real archive cut at many lengths is refused',
  async () => {
    const whole = readFileSync(goldenFile('c_no_sparse_attn', 'model.pt'));
    const step = Math.floor(whole.length / 40);
    const lengths = [...Array(40).keys()].flatMap((i) => [i * step, whole.length - 1 - i, i]);
    for (const length of lengths) {
      const error = await failureFor(whole.subarray(0, length));
      assert.is(error.code, 'ERR_CHECKPOINT_INVALID', `${length}: ${error.message}`);
    }
  },
);

test.run();
