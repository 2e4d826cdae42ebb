import { assert, suite } from '../tools/suite.js';
import type { NativeModel, NativeSession } from '../../native/host/addon-types.js';
import type { TinyOptions } from '../tensor/tiny-model.js';
import { greedy, ids, modelFile, withModel } from './runs.js';

const test = suite('prefix cache');
const step = 32;
const roomy = 2 ** 30;

/** All that a session shows after a prompt, fed in parts, and some steps. */
async function run(model: NativeModel, prompt: Int32Array, part = prompt.length): Promise<Run> {
  const session = model.openSession();
  for (let at = 0; at < prompt.length; at += part)
    await session.forward(prompt.subarray(at, at + part), { logits: 'none' });
  const seen = await look(session);
  session.close();
  return seen;
}

interface Run {
  cached: number;
  seen: unknown[];
}

async function look(session: NativeSession): Promise<Run> {
  const { cachedPositions: cached, position, mixerActive, ffnActive, mixerTotal } = session.stats();
  const seen: unknown[] = [position, mixerActive, ffnActive, mixerTotal];
  for (let i = 0; i < 3; i++) {
    const { id } = await session.step(Int32Array.of(i + 5), greedy, {});
    const { logits } = await session.forward(Int32Array.of(id), { logits: 'last' });
    seen.push(id, logits);
  }
  return { cached, seen: [...seen, session.membrane(), session.decayState(), session.kvPositions()] };
}

const shapes: [string, TinyOptions][] = [
  ['f32', {}],
  ['int8, a window shorter than a step', { weights: 'int8', window: 5, anchors: 2 }],
  ['int8, a window of some steps', { weights: 'int8', window: 70, anchors: 3 }],
  ['odd sizes', { vocab: 97, dim: 36, heads: 3, ffn: 70, layers: 3, window: 40 }],
  ['no attention', { sparseAttn: false, dim: 20, heads: 2 }],
];

for (const [name, shape] of shapes)
  test(`${name}: what begins alike goes on with the same bits, however it is fed`, async () => {
    const path = modelFile(shape);
    const long = ids(200, 90);
    const other = ids(200, 90).map((id, i) => (i < 70 ? id : (id + 1) % 90));
    for (const threads of [1, 3]) {
      const plain = await withModel(path, { threads }, async (model) => [
        await run(model, long),
        await run(model, other),
      ]);
      assert.equal(
        plain.map(({ cached }) => cached),
        [0, 0],
      );
      await withModel(path, { threads, prefixCacheBytes: roomy }, async (model) => {
        const runs: [Int32Array, number, number][] = [
          [long, 200, 0],
          [long, 200, 192],
          [other, 200, 64],
          [other, 200, 192],
          [long, 128, 192],
          // Parts that end inside a step are computed from there on.
          [long, 50, 32],
          [long, 1, 0],
          [long, 200, 192],
        ];
        for (const [prompt, part, cached] of runs) {
          const got = await run(model, prompt, part);
          assert.is(got.cached, cached, `${part} at a time`);
          assert.equal(got.seen, plain[prompt === long ? 0 : 1]?.seen);
        }
        assert.ok(model.prefixCacheBytes() > 0);
      });
    }
  });

test('logits right after a step that was taken over are those of the pass', async () => {
  const path = modelFile({ weights: 'int8' });
  const prompt = ids(2 * step, 90);
  const plain = await withModel(path, {}, (model) => model.openSession().forward(prompt, { logits: 'last' }));
  await withModel(path, { prefixCacheBytes: roomy }, async (model) => {
    await run(model, prompt);
    const session = model.openSession();
    const { logits } = await session.forward(prompt, { logits: 'last' });
    assert.is(session.stats().cachedPositions, 2 * step);
    assert.equal(logits, plain.logits);
    session.reset();
    assert.is(session.stats().cachedPositions, 0);
    assert.equal((await session.forward(prompt, { logits: 'last' })).logits, plain.logits);
    assert.is(session.stats().cachedPositions, 2 * step);
  });
});

test('every position is computed for whoever looks at every position', async () => {
  const path = modelFile({});
  const prompt = ids(3 * step, 90);
  const plain = await withModel(path, {}, (model) => model.openSession().forward(prompt, { logits: 'all' }));
  await withModel(path, { prefixCacheBytes: roomy }, async (model) => {
    await run(model, prompt);
    const [all, traced, scored] = [model.openSession(), model.openSession(), model.openSession()];
    assert.equal((await all.forward(prompt, { logits: 'all' })).logits, plain.logits);
    const { trace } = await traced.forward(prompt, { logits: 'none', trace: { blockOut: true } });
    assert.ok(trace?.blockOut?.every((value) => value !== 0));
    await scored.score(prompt);
    for (const session of [all, traced, scored]) assert.is(session.stats().cachedPositions, 0);
  });
});

test('decisions that were given leave nothing behind', async () => {
  const shape = { layers: 2, dim: 32, ffn: 64 };
  const path = modelFile(shape);
  const prompt = ids(step, 90);
  const given = {
    encoder: new Uint8Array(step * shape.dim).fill(1),
    ffn: new Uint8Array(shape.layers * step * shape.ffn).fill(1),
    block: new Uint8Array(shape.layers * step * shape.dim).fill(1),
  };
  await withModel(path, { prefixCacheBytes: roomy }, async (model) => {
    const session = model.openSession();
    await session.forward(prompt, { logits: 'none', given });
    assert.is(model.prefixCacheBytes(), 0);
  });
});

test('the budget holds, what was used last stays, and the bits are right whatever was dropped', async () => {
  const path = modelFile({ weights: 'int8' });
  const one = await withModel(path, { prefixCacheBytes: roomy }, async (model) => {
    await run(model, ids(step, 90));
    return model.prefixCacheBytes();
  });
  const prompts = Array.from({ length: 6 }, (_, i) =>
    ids(3 * step, 90).map((id, at) => (at < step ? id : (id + i) % 90)),
  );
  const plain = await withModel(path, {}, async (model) => {
    const runs = [];
    for (const prompt of prompts) runs.push((await run(model, prompt)).seen);
    return runs;
  });
  for (const room of [0, 1, 2, 3, 5])
    await withModel(path, { prefixCacheBytes: room * one + one / 2 }, async (model) => {
      for (const i of [0, 1, 2, 0, 3, 3, 4, 5, 1, 1, 2, 0, 5]) {
        const { seen } = await run(model, prompts[i] ?? new Int32Array());
        assert.equal(seen, plain[i], `room for ${room}, prompt ${i}`);
        assert.is(model.prefixCacheBytes(), Math.min(room, model.prefixCacheBytes() / one) * one);
        const { cached } = await run(model, prompts[i] ?? new Int32Array());
        assert.is(cached, Math.min(room, 3) * step, `room for ${room}`);
      }
    });
});

test('a session that stands where the cache dropped something goes on', async () => {
  const path = modelFile({ weights: 'int8' });
  const long = ids(4 * step, 90);
  const plain = await withModel(path, {}, async (model) => (await run(model, long)).seen);
  const one = await withModel(path, { prefixCacheBytes: roomy }, async (model) => {
    await run(model, ids(step, 90));
    return model.prefixCacheBytes();
  });
  await withModel(path, { prefixCacheBytes: one }, async (model) => {
    const session = model.openSession();
    await session.forward(long.subarray(0, step), { logits: 'none' });
    await run(
      model,
      long.map((id) => (id + 1) % 90),
    ); // takes the only place
    await session.forward(long.subarray(step), { logits: 'none' });
    assert.equal((await look(session)).seen, plain);
  });
});

test('a cancelled session takes nothing over', async () => {
  await withModel(modelFile({}), { prefixCacheBytes: roomy }, async (model) => {
    const prompt = ids(2 * step, 90);
    await run(model, prompt);
    const session = model.openSession();
    session.cancel();
    const error: unknown = await session
      .forward(prompt, { logits: 'none' })
      .catch((thrown: unknown) => thrown);
    assert.match(String(error), /cancelled/);
    assert.is(session.stats().position, 0);
  });
});

test.run();
