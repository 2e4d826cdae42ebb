/** Every head mode against the full head: on the bundled model's states, on rows that are equal, over instruction sets and threads. */
import { join } from 'node:path';
import { compareHeads } from '../../client/ctl/bench/compare-heads.js';
import { makeStates, textStates } from '../../client/ctl/bench/hidden-states.js';
import { addon } from '../../native/host/addon.js';
import type {
  Choices,
  HeadSettings,
  HeadStep,
  NativeModel,
  Sampling,
} from '../../native/host/addon-types.js';
import { assert, root, suite } from '../tools/suite.js';
import type { Draft } from '../tensor/gguf-draft.js';
import { failureOf } from '../host/helpers/failure.js';
import { greedy, modelFile, withModel } from './runs.js';

const test = suite('heads');
const bundled = join(root, 'models/default.gguf');
const isLong = process.env['SPIKED_TEST_LONG'] === '1';
/** Without the long run: enough that every class has hundreds. */
const nStates = isLong ? 104_000 : 4_000;

const certified: HeadSettings = { mode: 'certified' };
const drawn: Sampling = { ...greedy, temperature: 0.8, topK: 8, topP: 0.9 };

/** What a step decided, without its times. */
const decisions = ({ ids, steps }: Choices): unknown =>
  steps.map(({ gap, triggered, proved, fellBack, rows, survivors, idBefore, bytes }: HeadStep, i) => [
    ids[i],
    gap,
    triggered,
    proved,
    fellBack,
    rows,
    survivors,
    idBefore,
    bytes,
  ]);

test(`certified is full on ${nStates} states of the bundled model, 1 and 2 threads`, async () => {
  for (const threads of [1, 2])
    await withModel(bundled, { threads }, async (model) => {
      for (const states of await makeStates(model, nStates, 20, null)) {
        const found = await compareHeads(model, states, certified);
        const rate = ((100 * found.proved) / found.steps).toFixed(1);
        process.stdout.write(
          `${threads} threads, ${found.name}: ${found.steps} states, ${rate} % proved, survivors ${found.survivors.median}\n`,
        );
        assert.is(found.differences, 0, found.name);
        assert.is(found.proved + found.fell_back, found.steps, found.name);
        // The proof has to carry: a head that always fell back would be right too.
        const least = found.name === 'strange' ? 0.3 : found.name.endsWith('top-k') ? 0.5 : 0.9;
        assert.ok(found.proved > least * found.steps, `${found.name}: ${rate} % proved`);
      }
    });
});

test('every mode decides the same on every instruction set and thread count', async () => {
  const isas = addon()
    .isas()
    .filter(({ supported }) => supported);
  const models: string[] = [
    bundled,
    modelFile({ weights: 'int4mix', vocab: 150, dim: 96 }),
    modelFile({ weights: 'int8', dynamicPrior: false }),
  ];
  const heads: HeadSettings[] = [
    { mode: 'full' },
    { mode: 'scan', activations: 'f32' },
    { mode: 'scan', activations: 'i16' },
    { mode: 'scan', activations: 'i8' },
    { mode: 'gate', k: 4, threshold: 2 },
    { mode: 'gate', scope: 'head', k: 16, threshold: 4 },
    certified,
  ];
  for (const path of models) {
    const seen = new Map<string, unknown>();
    for (const { name: isa } of isas)
      for (const threads of [1, 2, 3])
        await withModel(path, { isa, threads }, async (model) => {
          const states = await textStates(model, 60, 3, null);
          for (const head of heads)
            for (const sampling of [greedy, drawn]) {
              const session = model.openSession();
              session.seed(9n);
              const key = JSON.stringify([head, sampling.temperature]);
              const found = decisions(await session.choose(states, sampling, head));
              session.close();
              if (seen.has(key)) assert.equal(found, seen.get(key), `${isa}, ${threads} threads: ${key}`);
              seen.set(key, found);
            }
          for (const sampling of [greedy, drawn]) {
            const [one, other] = [model.openSession(), model.openSession()];
            const expected = await one.choose(states, sampling);
            assert.equal((await other.choose(states, sampling, certified)).ids, expected.ids, isa);
            one.close();
            other.close();
          }
        });
  }
});

/** Rows 4, 5 … become copies of rows 0 to 3, so that every score occurs many times. */
function repeatRows(draft: Draft): void {
  for (const name of ['output_head.output_proj.weight', 'output_head.prior_net.2.weight'])
    for (const tensor of draft.tensors) {
      if (tensor.name !== name && tensor.name !== `${name}.scale`) continue;
      const panels = tensor.name === name ? Number(tensor.dims[1]) / 4 : Number(tensor.dims[0]) / 4;
      const first = tensor.data.subarray(0, tensor.data.length / panels);
      for (let panel = 1; panel < panels; panel++) tensor.data.set(first, panel * first.length);
    }
}

test('equal rows: all copies survive, the lowest id wins', async () => {
  const path = modelFile({ weights: 'int8' }, repeatRows);
  await withModel(path, { threads: 2 }, async (model) => {
    const states = await textStates(model, 200, 5, null);
    const session = model.openSession();
    const { ids, steps } = await session.choose(states, greedy, { ...certified, cap: model.info.vocabSize });
    for (const [i, id] of ids.entries()) {
      assert.ok(id < 4);
      assert.ok((steps[i]?.survivors ?? 0) >= model.info.validVocabSize / 4);
    }
    assert.equal(ids, (await session.choose(states, greedy)).ids);
    const banned = { ...greedy, bannedIds: Int32Array.of(0, 1, 2, 3, 4, 5) };
    assert.equal(
      (await session.choose(states, banned, certified)).ids,
      (await session.choose(states, banned)).ids,
    );
  });
});

test('a gate over all rows is full; one that never triggers is the scan', async () => {
  await withModel(bundled, {}, async (model) => {
    const states = await textStates(model, 300, 8, null);
    const session = model.openSession();
    const full = await session.choose(states, greedy);
    const scan = await session.choose(states, greedy, { mode: 'scan' });
    assert.ok(
      scan.ids.some((id, i) => id !== full.ids[i]),
      'an unverified scan errs somewhere',
    );
    for (const scope of ['projection', 'head'] as const) {
      const all = await session.choose(states, greedy, { mode: 'gate', scope, k: 2048, threshold: 1e30 });
      assert.equal(all.ids, full.ids, scope);
      assert.ok(all.steps.every(({ triggered, rows }) => triggered && rows === 2048));
      const none = await session.choose(states, greedy, { mode: 'gate', scope, threshold: 0 });
      assert.ok(none.steps.every(({ triggered, rows }) => !triggered && rows === 0));
      if (scope === 'head') assert.equal(none.ids, scan.ids);
      const some = await session.choose(states, greedy, { mode: 'gate', scope, k: 16, threshold: 0.5 });
      for (const [i, step] of some.steps.entries()) {
        assert.is(step.idBefore, none.ids[i]);
        assert.is(step.triggered, step.gap < 0.5);
        assert.is(step.rows, step.triggered ? 16 : 0);
      }
    }
  });
});

test('a cap of one row falls back and is right; what needs every row runs full', async () => {
  await withModel(bundled, {}, async (model) => {
    const states = await textStates(model, 40, 4, null);
    const session = model.openSession();
    const capped = await session.choose(states, greedy, { ...certified, cap: 1 });
    assert.equal(capped.ids, (await session.choose(states, greedy)).ids);
    assert.ok(capped.steps.every(({ fellBack, rows }) => fellBack && rows === 2048));
    for (const sampling of [
      { ...drawn, topK: 0 },
      { ...drawn, adaptiveTemperature: true },
    ])
      assert.is((await session.choose(states.subarray(0, 192), sampling, certified)).steps[0]?.mode, 'full');
    const feed = Int32Array.of(1, 30);
    const step = await session.step(feed, greedy, { head: certified, logprob: true });
    assert.ok(step.head.mode === 'full' && step.logprob !== null && step.logprob < 0);
    session.reset();
    const proved = await session.step(feed, greedy, { head: certified });
    assert.equal([proved.id, proved.logprob, proved.head.mode], [step.id, null, 'certified']);
    assert.throws(() => session.probabilities(greedy), /expected a forward with logits first/);
  });
});

test('settings out of range, modes that weights cannot serve, states that are not finite', async () => {
  const refused = (model: NativeModel, head: HeadSettings, text: RegExp): void => {
    assert.throws(() => {
      model.checkHead(head);
    }, text);
  };
  await withModel(bundled, {}, async (model) => {
    refused(model, { mode: 'gate', k: 0 }, /head\.k: expected an integer from 1/);
    refused(model, { mode: 'gate', k: 2049 }, /head\.k: expected 1 to 2048 rows, found 2049/);
    refused(model, { mode: 'gate', threshold: -1 }, /head\.threshold: expected a number from 0/);
    refused(model, { mode: 'gate', threshold: NaN }, /head\.threshold: expected a number from 0/);
    refused(
      model,
      { mode: 'certified', cap: 2049 },
      /head\.cap: expected at most the vocabulary's 2048 rows/,
    );
    refused(
      model,
      { mode: 'best' as 'full' },
      /head\.mode: expected "full", "scan", "gate", "certified" or "topk"/,
    );
    const session = model.openSession();
    const bad = new Float32Array(192).fill(1);
    bad[7] = NaN;
    for (const mode of ['scan', 'gate', 'certified'] as const) {
      const error = await failureOf(() => session.choose(bad, greedy, { mode }));
      assert.is(error.code, 'ERR_MODEL_INVALID');
      assert.match(error.message, /the hidden state is nan in dimension 7/i);
    }
    assert.match(
      (await failureOf(() => session.choose(new Float32Array(3), greedy))).message,
      /a multiple of 192/,
    );
    assert.match(
      (await failureOf(() => session.step(new Int32Array(0), greedy))).message,
      /at least one token/,
    );
  });
  await withModel(modelFile({ weights: 'f32' }), {}, async (model) => {
    refused(model, { mode: 'gate', k: 4 }, /head mode "gate" needs int8 or int4 weights/);
    refused(model, { mode: 'scan', activations: 'i16' }, /head mode "scan" needs int8 or int4 weights/);
    model.checkHead({ mode: 'scan', activations: 'f32' });
    const states = await textStates(model, 50, 2, null);
    const session = model.openSession();
    const found = await session.choose(states, greedy, certified);
    assert.equal(found.ids, (await session.choose(states, greedy)).ids);
  });
  await withModel(modelFile({ weights: 'f32', layoutPlan: 'column' }), {}, (model) => {
    refused(model, certified, /need output rows in panels/);
    return Promise.resolve();
  });
});

test.run();
