import { readFileSync, writeFileSync } from 'node:fs';
import { addon } from '../../native/host/addon.js';
import { assert, suite } from '../tools/suite.js';
import type { Activations } from '../../native/host/addon-types.js';
import type { TinyOptions } from '../tensor/tiny-model.js';
import { digest, ids, modelFile, withModel } from './runs.js';

const test = suite('same bits everywhere');

const shapes: [string, TinyOptions][] = [
  ['f32', {}],
  ['int8', { weights: 'int8' }],
  ['odd sizes, f32', { vocab: 97, dim: 36, heads: 3, ffn: 70, layers: 3 }],
  ['odd sizes, int8', { vocab: 97, dim: 36, heads: 3, ffn: 70, layers: 3, weights: 'int8' }],
  ['194m int8', { form: '194m', weights: 'int8', dim: 64, heads: 4, ffn: 130 }],
  ['no attention', { sparseAttn: false, dim: 20, heads: 2 }],
  ['no dynamic prior, tiny window', { dynamicPrior: false, window: 1, anchors: 0 }],
  ['int4mix', { weights: 'int4mix' }],
  ['odd sizes, int4mix', { vocab: 97, dim: 324, heads: 3, ffn: 70, weights: 'int4mix' }],
  ['f32 in rows', { vocab: 97, dim: 36, heads: 3, ffn: 70, layoutPlan: 'row' }],
  ['f32 in columns', { vocab: 197, dim: 84, heads: 3, ffn: 150, layoutPlan: 'column' }],
  ['larger than one tile', { dim: 160, heads: 5, ffn: 300, weights: 'int8', window: 9 }],
  ['more columns and rows than a worker takes at once', { dim: 64, ffn: 4000, layers: 1, weights: 'int8' }],
];
const isas = addon()
  .isas()
  .filter((i) => i.supported)
  .map((i) => i.name);
// Past the window and past the largest batch of one pass.
const input = ids(75, 96);

for (const [name, shape] of shapes)
  test(`${name}: ${isas.join(', ')}; 1 to 5 threads; batches of 1, 7, 32 and all`, async () => {
    const path = modelFile(shape);
    const seen = new Set<string>();
    for (const isa of isas)
      for (const threads of [1, 2, 5])
        for (const batch of [1, 7, 32, input.length])
          await withModel(path, { isa, threads }, async (model) => {
            const session = model.openSession();
            seen.add(await digest(session, input, batch));
            session.close();
          });
    assert.is(seen.size, 1);
  });

for (const [name, shape] of shapes.filter(([, s]) => s.weights !== undefined))
  test(`${name}, quantised activations: the same bits on every ISA, thread count and split, and those of no other precision`, async () => {
    const path = modelFile(shape);
    const seen = new Set([await withModel(path, {}, (model) => digest(model.openSession(), input, 32))]);
    for (const activations of ['i16', 'i8'] as const) {
      const bits = new Set<string>();
      for (const isa of isas)
        for (const [threads, batch] of [
          [1, 1],
          [2, 7],
          [5, input.length],
        ] as const)
          await withModel(path, { isa, threads, activations }, async (model) => {
            bits.add(await digest(model.openSession(), input, batch));
          });
      assert.is(bits.size, 1, activations);
      for (const bit of bits) seen.add(bit);
    }
    assert.is(seen.size, 3);
  });

async function refusal(path: string, activations: Activations): Promise<string> {
  const error = await withModel(path, { activations }, () => Promise.resolve()).catch(
    (e: unknown) => e as Error & { code: string },
  );
  assert.is(error?.code, 'ERR_MODEL_UNSUPPORTED');
  return error?.message ?? '';
}

test('quantised activations are refused for f32 weights', async () => {
  for (const activations of ['i16', 'i8'] as const)
    assert.match(
      await refusal(modelFile({}), activations),
      new RegExp(`${activations} activations: expected quantised weights, found f32`),
    );
});

test('quantised activations are refused where the exact sums would not fit', async () => {
  const path = modelFile({ weights: 'int8', heads: 2 }, (draft) => {
    draft.metadata.set('symboliclight.embed_dim', { type: 'u32', value: 131072 });
    draft.metadata.set('symboliclight.head_dim', { type: 'u32', value: 65536 });
  });
  for (const activations of ['i16', 'i8'] as const)
    assert.match(
      await refusal(path, activations),
      new RegExp(`${activations} activations: expected embed_dim below 131072, found 131072`),
    );
});

test('a model that differs in one weight bit differs in the digest', async () => {
  const path = modelFile({});
  const before = await withModel(path, {}, (m) => digest(m.openSession(), input, 32));
  const bytes = readFileSync(path);
  // The last tensor is prior_net.2: its first weights are not padding.
  const at = bytes.length - 96 * 32 * 4;
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(path, bytes);
  const after = await withModel(path, {}, (m) => digest(m.openSession(), input, 32));
  assert.is.not(after, before);
});

test('the positions of a session do not leak into the next one', async () => {
  await withModel(modelFile({ weights: 'int8' }), {}, async (model) => {
    const session = model.openSession();
    const first = await digest(session, input, 32);
    session.reset();
    assert.is(await digest(session, input, 5), first);
    assert.is(await digest(model.openSession(), input, 32), first);
  });
});

test.run();
