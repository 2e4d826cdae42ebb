/** Models that hold the same weights in another storage: int4mix, and the layout plans. */
import type { NativeModel } from '../../native/host/addon-types.js';
import { assert, suite } from '../tools/suite.js';
import type { TinyOptions } from '../tensor/tiny-model.js';
import { greedy, ids, modelFile, withModel } from './runs.js';

const test = suite('storage of weights');

interface Run {
  logits: Float32Array;
  /** Spike counts of every layer and position. */
  active: number[];
}

async function run(options: TinyOptions): Promise<Run> {
  return withModel(modelFile(options), {}, async (model) => {
    const session = model.openSession();
    const { logits, trace } = await session.forward(ids(40, options.vocab), {
      logits: 'all',
      trace: { blockOut: false },
    });
    if (logits === null || trace === null) throw new Error('expected logits and a trace');
    return { logits, active: [...trace.activeEncoder, ...trace.activeMixer, ...trace.activeFfn] };
  });
}

/** The largest difference, relative to the largest logit; the runs must have had the same spikes. */
function relativeError(found: Run, expected: Run): number {
  assert.equal(found.active, expected.active, 'no neuron flipped');
  const largest = expected.logits.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  return found.logits.reduce(
    (most, x, i) => Math.max(most, Math.abs(x - (expected.logits[i] ?? NaN)) / largest),
    0,
  );
}

const shapes: [string, TinyOptions][] = [
  ['the tiny model', {}],
  ['odd sizes', { vocab: 97, dim: 36, heads: 3, ffn: 70 }],
  ['more groups than a block has, a prior of 80 columns', { vocab: 101, dim: 320, heads: 4, ffn: 130 }],
  ['194m without attention', { form: '194m', sparseAttn: false, dim: 64, heads: 4 }],
];

for (const [name, shape] of shapes)
  test(`${name}: int4mix logits are those of the f32 model of its dequantised weights`, async () => {
    const found = await run({ ...shape, weights: 'int4mix' });
    const worst = relativeError(found, await run({ ...shape, weights: 'int4mix', dequantised: true }));
    assert.ok(worst <= 1e-4, String(worst));
    assert.is.not(worst, 0, 'the products differ in the order of their sums');
    assert.not.equal(found.logits, (await run(shape)).logits, 'the weights were quantised');
  });

for (const [name, shape] of shapes)
  test(`${name}: the layout plans agree to 1e-4, and not to the bit`, async () => {
    const mixed = await run(shape);
    assert.equal((await run({ ...shape, layoutPlan: 'mixed' })).logits, mixed.logits);
    for (const layoutPlan of ['row', 'column'] as const) {
      const worst = relativeError(await run({ ...shape, layoutPlan }), mixed);
      assert.ok(worst > 0 && worst <= 1e-4, `${layoutPlan}: ${worst}`);
    }
  });

test('a model says how its weights are stored', async () => {
  const storage = (options: TinyOptions) =>
    withModel(modelFile(options), {}, ({ info }: NativeModel) =>
      Promise.resolve([info.weights, info.layoutPlan]),
    );
  assert.equal(await storage({ weights: 'int4mix' }), ['int4mix', 'mixed']);
  assert.equal(await storage({ layoutPlan: 'row' }), ['f32', 'row']);
  assert.equal(await storage({ layoutPlan: 'column' }), ['f32', 'column']);
});

test('int4mix decodes greedily, the same from any split of the prompt', async () => {
  await withModel(modelFile({ weights: 'int4mix' }), {}, async (model) => {
    const decode = async (batch: number): Promise<number[]> => {
      const session = model.openSession();
      const prompt = ids(20);
      for (let at = 0; at < 16; at += batch)
        await session.forward(prompt.subarray(at, at + batch), { logits: 'none' });
      let { id } = await session.step(prompt.subarray(16), greedy);
      const out = [id];
      while (out.length < 30) out.push(({ id } = await session.step(Int32Array.of(id), greedy)).id);
      assert.is(session.stats().position, 20 + 29);
      return out;
    };
    assert.equal(await decode(16), await decode(1));
  });
});

/** Bytes of one token's pass without its active columns, and of one such column. */
async function touched(options: TinyOptions): Promise<{ fixed: number; column: number }> {
  return withModel(modelFile(options), {}, async (model) => {
    const points: [active: number, bytes: number][] = [];
    for (const id of [1, 7, 30, 50, 71]) {
      const session = model.openSession();
      await session.forward(Int32Array.of(id), { logits: 'none' });
      const stats = session.stats();
      points.push([stats.mixerActive + stats.ffnActive, stats.bytesTouched]);
    }
    const [[active, bytes] = [0, 0], ...rest] = points;
    const other = rest.find(([count]) => count !== active);
    assert.ok(other !== undefined, 'some ids differ in activity');
    const column = (other[1] - bytes) / (other[0] - active);
    for (const [count, found] of points) assert.is(found, bytes + (count - active) * column);
    return { fixed: bytes - active * column, column };
  });
}

test('the bytes touched are those of the storage', async () => {
  const [dim, ffn, heads, layers] = [24, 40, 2, 2];
  const vectors = 2 * dim * 4 + layers * (4 * dim + heads + 1 + dim / heads / 2) * 4 + dim * 4;
  const dense = 4 * dim * dim + ffn * dim;
  const binary = dim * dim + ffn * dim;
  const f32 = vectors + layers * dense * 4;
  assert.equal(await touched({}), { fixed: f32, column: dim * 4 });
  assert.equal(await touched({ layoutPlan: 'column' }), { fixed: f32, column: dim * 4 });
  assert.equal(await touched({ layoutPlan: 'row' }), { fixed: f32 + layers * binary * 4, column: 0 });
  // One group of 24 columns a row: 12 bytes and a scale of 2. Two scales of dim rows for the binary inputs.
  const int4mix = vectors + layers * ((4 * dim + ffn) * (dim / 2 + 2) + 2 * dim * 4);
  assert.equal(await touched({ weights: 'int4mix' }), { fixed: int4mix, column: dim });
});

test.run();
