/** The float64 reference pass, recorded and given spikes. */
import { createHash } from 'node:crypto';
import { addon } from '../../native/host/addon.js';
import type { Activations, NativeModel, Spikes } from '../../native/host/addon-types.js';
import { auditEngine, bound, logitError, runReference } from '../../client/ctl/audit/runs.js';
import { departuresOf, freeSpikes, nearest, sitesOf } from '../../client/ctl/audit/spikes.js';
import type { TinyOptions } from '../tensor/tiny-model.js';
import { assert, suite } from '../tools/suite.js';
import { digest, ids, modelFile, withModel } from './runs.js';

const test = suite('float64 reference');

const shapes: [string, TinyOptions][] = [
  ['f32', {}],
  ['int8', { weights: 'int8' }],
  ['odd sizes, f32', { vocab: 97, dim: 36, heads: 3, ffn: 70, layers: 3 }],
  ['194m, int8', { form: '194m', weights: 'int8', dim: 64, heads: 4, ffn: 130 }],
  ['int4mix, odd sizes', { vocab: 97, dim: 72, heads: 4, ffn: 70, weights: 'int4mix' }],
  ['all weights by rows', { layoutPlan: 'row' }],
  ['all weights by columns', { layoutPlan: 'column' }],
  ['no attention', { sparseAttn: false, dim: 20, heads: 2 }],
  ['no dynamic prior, tiny window, int8', { dynamicPrior: false, window: 1, anchors: 0, weights: 'int8' }],
];
const isas = addon()
  .isas()
  .filter((i) => i.supported)
  .map((i) => i.name);
// Past the window and past the largest batch of one pass.
const input = ids(75, 96);

/** Arbitrary spikes, about one in eight: nothing like what the model would decide. */
function arbitrarySpikes(model: NativeModel, n: number): Spikes {
  const spikes = freeSpikes(model.info, n);
  let state = 1;
  for (const bytes of [spikes.encoder, spikes.ffn, spikes.block])
    for (let i = 0; i < bytes.length; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      bytes[i] = state >>> 29 === 0 ? 1 : 0;
    }
  return spikes;
}

async function engineRun(model: NativeModel, all: Int32Array, given?: Spikes) {
  const session = model.openSession();
  const trace = { blockOut: true, spikes: true, denseInputs: true };
  const { logits, trace: seen } = await session.forward(all, { logits: 'all', trace, given });
  const membrane = session.membrane();
  session.close();
  assert.ok(logits !== null && seen?.spikes && seen.denseInputs && seen.blockOut);
  return {
    logits,
    membrane,
    spikes: seen.spikes,
    denseInputs: seen.denseInputs,
    blockOut: seen.blockOut,
    seen,
  };
}

for (const [name, shape] of shapes)
  for (const activations of (shape.weights ? ['f32', 'i16', 'i8'] : ['f32']) as Activations[])
    test(`${name}, ${activations} activations: with the same spikes and inputs only rounding is left`, async () => {
      const path = modelFile(shape);
      await withModel(path, { threads: 2 }, (model) =>
        withModel(path, { activations }, async (engine) => {
          for (const given of [
            (await runReference(model, input)).spikes,
            arbitrarySpikes(model, input.length),
          ]) {
            const found = await engineRun(engine, input, given);
            const inputs = activations === 'f32' ? {} : { activations, denseInputs: found.denseInputs };
            const exact = await runReference(model, input, { given, ...inputs });
            const error = logitError(found.logits, exact.logits, model.info.vocabSize);
            assert.ok(error.max_abs <= bound, `off by ${error.max_abs}`);
          }
        }),
      );
    });

test('own decisions are what the trace counts, and the block outputs and membranes say, freely and given', async () => {
  await withModel(modelFile({ layers: 3 }), {}, async (model) => {
    const { nLayers, embedDim, ffnDim, threshold } = model.info;
    const n = input.length;
    const free = await engineRun(model, input);
    const count = (bytes: Uint8Array, width: number) =>
      Int32Array.from({ length: bytes.length / width }, (_, row) =>
        bytes.subarray(row * width, (row + 1) * width).reduce((sum, spike) => sum + spike, 0),
      );
    assert.equal(count(free.spikes.encoder, embedDim), free.seen.activeEncoder);
    assert.equal(count(free.spikes.ffn, ffnDim), free.seen.activeFfn);
    const mixers = count(free.spikes.block, embedDim);
    assert.equal(mixers.subarray(0, (nLayers - 1) * n), free.seen.activeMixer.subarray(n));
    const given = await engineRun(model, input, arbitrarySpikes(model, n));
    for (const { blockOut, spikes } of [free, given])
      assert.equal(
        Uint8Array.from(blockOut, (z) => (z >= threshold ? 1 : 0)),
        spikes.block,
      );
    // Dense inputs: those of q, k, v after the first block are its output.
    assert.equal(
      free.denseInputs.subarray(3 * n * embedDim, 4 * n * embedDim),
      free.blockOut.subarray(0, n * embedDim),
    );
  });
});

test('given decisions that are all free, or the own ones, change no bit', async () => {
  await withModel(modelFile({ weights: 'int8' }), {}, async (model) => {
    const free = await engineRun(model, input);
    for (const given of [freeSpikes(model.info, input.length), free.spikes]) {
      const again = await engineRun(model, input, given);
      assert.equal(again.logits, free.logits);
      assert.equal(again.membrane, free.membrane);
      assert.equal(again.spikes, free.spikes);
    }
  });
});

test('the membrane resets where the given spike says so, and only there', async () => {
  await withModel(modelFile({}), {}, async (model) => {
    const given = freeSpikes(model.info, input.length);
    const last = (input.length - 1) * model.info.embedDim;
    const before = (await engineRun(model, input)).membrane;
    given.encoder.fill(0, last, last + 3);
    given.encoder.fill(1, last + 3, last + 6);
    const after = (await engineRun(model, input, given)).membrane;
    assert.equal(after.subarray(3, 6), new Float32Array(3));
    assert.equal(after.subarray(6), before.subarray(6));
    assert.ok(after.subarray(0, 3).every((m, i) => m === before[i] || before[i] === 0));
  });
});

test('a given run has the same bits on every ISA, thread count and split', async () => {
  const path = modelFile({ vocab: 97, dim: 36, heads: 3, ffn: 70, layers: 3, weights: 'int8' });
  const seen = new Set<string>();
  for (const isa of isas)
    for (const threads of [1, 2])
      await withModel(path, { isa, threads }, async (model) => {
        const given = arbitrarySpikes(model, input.length);
        const { logits, spikes, denseInputs, membrane } = await engineRun(model, input, given);
        const hash = createHash('sha256');
        for (const part of [logits, denseInputs, membrane, spikes.encoder, spikes.ffn, spikes.block])
          hash.update(part);
        seen.add(hash.digest('hex'));
        // A pass of one position goes its own way through the workers.
        for (const size of [1, 7]) {
          const session = model.openSession();
          const split: number[] = [];
          for (let at = 0; at < input.length; at += size) {
            const part = input.subarray(at, at + size);
            const result = await session.forward(part, {
              logits: 'all',
              given: sliced(given, model, input.length, at, part.length),
            });
            split.push(...(result.logits ?? []));
          }
          assert.equal(Float32Array.from(split), logits);
        }
      });
  assert.is(seen.size, 1);
});

function sliced(given: Spikes, { info }: NativeModel, n: number, at: number, length: number): Spikes {
  const layers = (bytes: Uint8Array, width: number) =>
    Uint8Array.from(
      Array.from({ length: info.nLayers }, (_, layer) => [
        ...bytes.subarray((layer * n + at) * width, (layer * n + at + length) * width),
      ]).flat(),
    );
  return {
    encoder: given.encoder.slice(at * info.embedDim, (at + length) * info.embedDim),
    ffn: layers(given.ffn, info.ffnDim),
    block: layers(given.block, info.embedDim),
  };
}

test('recording changes no bit', async () => {
  await withModel(modelFile({}), {}, async (model) => {
    const plain = await digest(model.openSession(), input, 32);
    const session = model.openSession();
    const trace = { blockOut: true, spikes: true, denseInputs: true };
    await session.forward(input, { logits: 'none', trace });
    session.reset();
    assert.is(await digest(session, input, 32), plain);
    assert.equal(
      (await engineRun(model, input)).logits,
      (await model.openSession().forward(input, { logits: 'all' })).logits,
    );
  });
});

for (const kind of ['encoder', 'ffn', 'block'] as const)
  test(`one ${kind} spike flipped by hand is found as the first departure, with its margin`, async () => {
    await withModel(modelFile({ layers: 3 }), {}, async (model) => {
      const reference = await runReference(model, input);
      const free = await engineRun(model, input);
      assert.is(departuresOf(free.spikes, reference, model.info, input.length).differing, 0);
      const site = [...sitesOf(model.info, input.length)].find(
        ({ position, threshold, layer }) =>
          position === 40 && threshold === kind && layer === (kind === 'encoder' ? null : 1),
      );
      assert.ok(site);
      const at = site.offset + 5;
      const given = freeSpikes(model.info, input.length);
      const flipped = reference.spikes[kind][at] === 1 ? 0 : 1;
      given[kind][at] = flipped;
      for (const result of [
        await engineRun(model, input, given),
        await runReference(model, input, { given }),
      ]) {
        assert.is(result.spikes[kind][at], reference.spikes[kind][at], 'the own decision is recorded');
        result.spikes[kind][at] = flipped;
        const { first, differing } = departuresOf(result.spikes, reference, model.info, input.length);
        assert.equal(first, {
          position: 40,
          threshold: kind,
          layer: site.layer,
          neuron: 5,
          margin: Math.abs(reference.margins[kind][at] ?? NaN),
        });
        assert.ok(differing >= 1);
        const width = model.info.vocabSize;
        assert.ok(logitError(result.logits, reference.logits, width, 40).max_abs > 1e-3);
        assert.ok(
          logitError(result.logits.subarray(0, 40 * width), reference.logits.subarray(0, 40 * width), width)
            .max_abs <= bound,
        );
      }
    });
  });

test('margins are z - threshold: their sign decides, and the nearest come first', async () => {
  await withModel(modelFile({}), {}, async (model) => {
    const reference = await runReference(model, input);
    for (const kind of ['encoder', 'ffn', 'block'] as const)
      assert.equal(
        Uint8Array.from(reference.margins[kind], (margin) => (margin >= 0 ? 1 : 0)),
        reference.spikes[kind],
      );
    const all = [...sitesOf(model.info, input.length)]
      .flatMap(({ threshold, offset, width }) => [
        ...reference.margins[threshold].subarray(offset, offset + width),
      ])
      .map(Math.abs)
      .sort((a, b) => a - b);
    const found = nearest(reference, model.info, input.length, 5);
    assert.equal(
      found.map(({ margin }) => margin),
      all.slice(0, 5),
    );
  });
});

test('the bits of the reference do not depend on the threads, nor does it touch the session', async () => {
  const path = modelFile({ weights: 'int8' });
  const one = await withModel(path, {}, (model) => runReference(model, input));
  await withModel(path, { threads: 3 }, async (model) => {
    const session = model.openSession();
    await session.forward(input.subarray(0, 9), { logits: 'none' });
    const membrane = session.membrane();
    assert.equal(await session.reference(input, {}), one);
    assert.equal(session.membrane(), membrane);
    assert.is(session.stats().position, 9);
  });
});

test('a cancelled session computes no reference until it is reset', async () => {
  await withModel(modelFile({}), {}, async (model) => {
    const session = model.openSession();
    session.cancel();
    const error = await session.reference(input, {}).catch((e: unknown) => e);
    assert.is((error as { code?: string }).code, 'ERR_CANCELLED');
    session.reset();
    assert.is((await session.reference(input, {})).logits.length, input.length * model.info.vocabSize);
  });
});

test('an engine of other weights is beyond the bound', async () => {
  const [right, wrong] = [modelFile({ seed: 3 }), modelFile({ seed: 4 })];
  await withModel(right, {}, (model) =>
    withModel(wrong, {}, async (engine) => {
      const reference = await runReference(model, input);
      const own = { model, activations: 'f32' } as const;
      assert.is((await auditEngine('f32', engine, input, reference, own)).within_bound, false);
      assert.is((await auditEngine('f32', model, input, reference, own)).within_bound, true);
    }),
  );
});

test('wrong shapes and values are refused, each with what was expected and found', async () => {
  await withModel(modelFile({}), {}, async (model) => {
    const session = model.openSession();
    const some = ids(4, 96);
    const good = freeSpikes(model.info, 4);
    const denseInputs = new Float32Array(model.info.nLayers * 3 * 4 * model.info.embedDim);
    const refused = async (call: Promise<unknown>, message: RegExp) => {
      const error = await call.then(
        () => null,
        (e: unknown) => e as Error & { code: string },
      );
      assert.is(error?.code, 'ERR_INVALID_ARGUMENT');
      assert.match(error?.message ?? '', message);
    };
    const short = { ...good, ffn: good.ffn.subarray(1) };
    const seven = { ...good, block: good.block.slice().fill(7, 3, 4) };
    const floats = { ...good, encoder: new Float32Array(good.encoder.length) as unknown as Uint8Array };
    for (const run of [
      (given: Spikes) => session.forward(some, { logits: 'none', given }),
      (given: Spikes) => session.reference(some, { given }),
    ]) {
      await refused(run(short), /options\.given\.ffn: expected 320 values, found 319/);
      await refused(run(seven), /options\.given\.block: expected 0, 1 or 2, found 7 at index 3/);
      await refused(run(floats), /options\.given\.encoder: expected a Uint8Array, found/);
    }
    await refused(
      session.reference(some, { activations: 'i8' }),
      /dense inputs: expected those of a forward/,
    );
    await refused(session.reference(some, { denseInputs }), /dense inputs: expected none/);
    await refused(
      session.reference(some, { activations: 'i16', denseInputs: denseInputs.subarray(1) }),
      /options\.denseInputs: expected 576 values, found 575/,
    );
    await refused(
      session.reference(some, { activations: 'i4' as 'i8' }),
      /options\.activations: expected "f32", "i8" or "i16"/,
    );
    const unknown = await session.reference(Int32Array.of(1, 96), {}).catch((e: unknown) => e);
    assert.is((unknown as { code: string }).code, 'ERR_TOKEN_UNKNOWN');
  });
});

test.run();
