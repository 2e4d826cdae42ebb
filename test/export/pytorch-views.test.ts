import { assert, suite } from '../tools/suite.js';
import { failureOf, named, readAll, readEverything, withCheckpoint } from './helpers/reads.js';
import { f32Bytes, scratchFolder, torchBytes, type TorchFileSpec } from './helpers/torch-file.js';

const folder = scratchFolder();
const test = suite('views of storages');
test.after(() => folder.remove());

const counting = Array.from({ length: 24 }, (_, i) => i - 5.5);
const storage: [string, Buffer[]] = ['0', [f32Bytes(counting)]];

function file(
  tensors: TorchFileSpec['tensors'],
  storages = [storage],
  rest: Partial<TorchFileSpec> = {},
): string {
  return folder.write('views.pt', torchBytes({ tensors, storages, ...rest }));
}

for (const deflate of [false, true])
  test(`offsets, strides and shared storages (${deflate ? 'deflated' : 'stored'})`, async () => {
    const view = { dtype: 'f32', key: '0', elements: 24 } as const;
    const path = file(
      [
        ['whole', { ...view, shape: [4, 6] }],
        ['transposed', { ...view, shape: [6, 4], strides: [1, 6] }],
        ['inner', { ...view, offset: 7, shape: [2, 3], strides: [6, 2] }],
        ['cube', { ...view, shape: [2, 3, 4], strides: [3, 1, 6] }],
        ['scalar', { ...view, offset: 5, shape: [] }],
        ['one', { ...view, offset: 6, shape: [1], strides: [99] }],
        ['repeated', { ...view, offset: 3, shape: [2, 2], strides: [0, 1] }],
        ['empty', { ...view, shape: [0, 6] }],
      ],
      [storage],
      { options: { deflate } },
    );
    await withCheckpoint(path, async ({ tensors, largestStorageBytes }) => {
      const at = (...elements: number[]) => elements.map((element) => counting[element]);
      const read = async (name: string) => Array.from(await readAll(named(tensors, name)));
      assert.equal(await read('whole'), counting);
      assert.equal(
        await read('transposed'),
        at(...[0, 1, 2, 3, 4, 5].flatMap((row) => [row, row + 6, row + 12, row + 18])),
      );
      assert.equal(await read('inner'), at(7, 9, 11, 13, 15, 17));
      assert.equal(
        await read('cube'),
        at(...[0, 3].flatMap((i) => [0, 1, 2].flatMap((j) => [0, 1, 2, 3].map((k) => i + j + 6 * k)))),
      );
      assert.equal(await read('scalar'), at(5));
      assert.equal(await read('one'), at(6));
      assert.equal(await read('repeated'), at(3, 4, 3, 4));
      assert.equal(await read('empty'), []);
      for (const name of ['whole', 'transposed', 'cube']) {
        const tensor = named(tensors, name);
        const all = await readAll(tensor);
        const rowLength = all.length / (tensor.shape[0] ?? 1);
        for (let row = 0; row < (tensor.shape[0] ?? 1); row++)
          assert.equal(
            await tensor.readRows(row, row + 1),
            all.slice(row * rowLength, (row + 1) * rowLength),
            `${name} ${row}`,
          );
      }
      assert.is(largestStorageBytes, 96);
    });
  });

test('rows asked for at the same time from deflated entries do not mix', async () => {
  const keys = ['0', '1', '2'];
  const values = (key: string) => counting.map((value) => value * (Number(key) + 1));
  const path = file(
    keys.map((key) => [key, { dtype: 'f32', key, elements: 24, shape: [4, 6] }]),
    keys.map((key) => [key, [f32Bytes(values(key))]]),
    { options: { deflate: true } },
  );
  await withCheckpoint(path, async ({ tensors }) => {
    const jobs = Array.from({ length: 30 }, (_, i) => String(i % 3));
    const read = await Promise.all(jobs.map((key) => readAll(named(tensors, key))));
    jobs.forEach((key, i) => assert.equal(Array.from(read[i] ?? []), values(key)));
  });
});

test('f16, bf16 and bool become f32 exactly', async () => {
  const f16: [number, number][] = [
    [0x0000, 0], [0x8000, -0], [0x3c00, 1], [0xc000, -2], [0x3555, 0.333251953125], [0x7bff, 65504],
    [0x0001, 2 ** -24], [0x83ff, -1023 * 2 ** -24], [0x0400, 2 ** -14], [0x7c00, Infinity], [0xfc00, -Infinity], [0x7e00, NaN],
  ]; // prettier-ignore
  const bf16: [number, number][] = [
    [0x0000, 0], [0x8000, -0], [0x3f80, 1], [0xc040, -3], [0x3eab, 0.333984375], [0x7f80, Infinity], [0x0001, 2 ** -133], [0x7fc0, NaN],
  ]; // prettier-ignore
  const u16 = (pairs: [number, number][]) => Buffer.from(Uint16Array.from(pairs, ([bits]) => bits).buffer);
  const path = file(
    [
      ['half', { dtype: 'f16', key: 'h', elements: f16.length, shape: [f16.length] }],
      ['brain', { dtype: 'bf16', key: 'b', elements: bf16.length, shape: [2, bf16.length / 2] }],
      [
        'brain transposed',
        {
          dtype: 'bf16',
          key: 'b',
          elements: bf16.length,
          shape: [bf16.length / 2, 2],
          strides: [1, bf16.length / 2],
        },
      ],
      ['mask', { dtype: 'bool', key: 'm', elements: 3, shape: [3] }],
    ],
    [
      ['h', [u16(f16)]],
      ['b', [u16(bf16)]],
      ['m', [Buffer.from([0, 1, 1])]],
    ],
  );
  await withCheckpoint(path, async ({ tensors }) => {
    const read = async (name: string) => Array.from(await readAll(named(tensors, name)));
    const same = (found: number[], expected: number[]) =>
      assert.ok(
        found.length === expected.length && found.every((value, i) => Object.is(value, expected[i])),
        found.join(),
      );
    same(
      await read('half'),
      f16.map(([, value]) => value),
    );
    const brain = bf16.map(([, value]) => value);
    same(await read('brain'), brain);
    same(
      await read('brain transposed'),
      [0, 1, 2, 3].flatMap((i) => [brain[i] ?? NaN, brain[i + 4] ?? NaN]),
    );
    same(await read('mask'), [0, 1, 1]);
  });
});

test('a view that leaves its storage is refused', async () => {
  const bad = [
    { shape: [25] },
    { shape: [4, 6], offset: 1 },
    { shape: [2], strides: [24] },
    { shape: [1], offset: 24 },
    { shape: [2], strides: [2 ** 52] },
  ];
  for (const spec of bad) {
    const path = file([['w', { dtype: 'f32', key: '0', elements: 24, ...spec }]]);
    const error = await failureOf(() => readEverything(path));
    assert.is(error.code, 'ERR_CHECKPOINT_INVALID');
    assert.match(
      error.message,
      /views\.pt: entry "archive\/data\.pkl": .*inside storage "0" of 24 elements, found/,
    );
  }
});

test('a storage of another size than its tensors say is refused', async () => {
  const error = await failureOf(() =>
    readEverything(file([['w', { dtype: 'f32', key: '0', elements: 25, shape: [25] }]])),
  );
  assert.match(
    error.message,
    /tensor "w": entry "archive\/data\/0": expected 100 bytes for 25 of f32, found 96/,
  );
  const missing = await failureOf(() =>
    readEverything(file([['w', { dtype: 'f32', key: '9', elements: 25, shape: [25] }]])),
  );
  assert.match(missing.message, /entry "archive\/data\/9": expected this entry, found none/);
});

test('an integer tensor is listed and refused only when read', async () => {
  const path = file([['steps', { dtype: 'i64', key: '0', elements: 12, shape: [12] }]]);
  await withCheckpoint(path, async ({ tensors }) => {
    const steps = named(tensors, 'steps');
    assert.is(steps.dtype, 'i64');
    const error = await failureOf(() => readAll(steps));
    assert.is(error.code, 'ERR_CHECKPOINT_TENSOR');
    assert.match(error.message, /tensor "steps": expected element type f32, f16, bf16 or bool, found i64/);
  });
});

test.run();
