/** Drafts: the ids, the logits and the state are those of steps that guess nothing, whatever comes in the middle of one. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { addon } from '../../native/host/addon.js';
import type {
  EngineOptions,
  GeneratedStep,
  GenerateOptions,
  NativeModel,
  NativeSession,
  Sampling,
} from '../../native/host/addon-types.js';
import { generatedSteps } from '../../native/host/index.js';
import { failureOf } from '../host/helpers/failure.js';
import { assert, root, sharedDir, suite } from '../tools/suite.js';
import { greedy, ids, modelFile, withModel } from './runs.js';

const test = suite('drafts');
const none = new Int32Array();
const isas = addon()
  .isas()
  .filter(({ supported }) => supported)
  .map(({ name }) => name);

/** Greedy among the first few ids: a text that soon repeats itself, and not always. */
function among(model: NativeModel, n: number, repetitionPenalty = 1): Sampling {
  const { vocabSize } = model.info;
  const bannedIds = Int32Array.from({ length: Math.max(0, vocabSize - n) }, (_, i) => n + i);
  return { ...greedy, bannedIds, repetitionPenalty };
}

interface Taken {
  ids: number[];
  steps: GeneratedStep[];
}

async function generate(
  session: NativeSession,
  prompt: Int32Array,
  sampling: Sampling,
  options: Partial<GenerateOptions>,
): Promise<Taken> {
  const steps: GeneratedStep[] = [];
  await session.forward(prompt.subarray(0, -1), { logits: 'none' });
  await session.generate(
    prompt.subarray(-1),
    sampling,
    { maxTokens: 64, stopIds: none, ...options },
    (rows, n) => steps.push(...generatedSteps(rows, n)),
  );
  return { ids: steps.map(({ id }) => id), steps };
}

/** All that shows where a session is: its state, and what it makes of the next ids. */
async function shown(session: NativeSession, spiking: boolean): Promise<unknown[]> {
  const fork = await session.fork();
  const { logits } = await fork.forward(Int32Array.of(1, 2, 3), { logits: 'all' });
  fork.close();
  const { position, mixerActive, ffnActive, mixerTotal, ffnTotal } = session.stats();
  const stats = { position, mixerActive, ffnActive, mixerTotal, ffnTotal };
  return spiking
    ? [stats, logits, session.membrane(), session.decayState(), session.kvPositions()]
    : [stats, logits];
}

function outcomes(steps: readonly GeneratedStep[]): { right: number; wrong: number } {
  let [right, wrong] = [0, 0];
  for (const { draft } of steps) {
    right += draft?.right ?? 0;
    wrong += (draft?.guessed ?? 0) - (draft?.right ?? 0);
  }
  return { right, wrong };
}

const loop = Int32Array.from({ length: 70 }, (_, i) => 2 + (i % 6));

/** Each way to continue each prompt, with and without drafts. */
async function compare(model: NativeModel, spiking: boolean, n: number) {
  const total = { right: 0, wrong: 0 };
  for (const [prompt, sampling] of [
    [loop, greedy],
    [loop, among(model, 3)],
    [ids(40, model.info.vocabSize), among(model, 5, 1.1)],
    [Int32Array.of(1, 2), among(model, 2)],
  ] as const) {
    for (const maxTokens of [n, n - 3]) {
      const plain = model.openSession();
      const drafted = model.openSession();
      const expected = await generate(plain, prompt, sampling, { maxTokens });
      const found = await generate(drafted, prompt, sampling, { maxTokens, maxDraft: 7 });
      assert.equal(found.ids, expected.ids);
      assert.equal(await shown(drafted, spiking), await shown(plain, spiking));
      const { right, wrong } = outcomes(found.steps);
      total.right += right;
      total.wrong += wrong;
      const positions = (steps: GeneratedStep[]) =>
        steps.map(({ stats }) => [stats.position, stats.ffnActive]);
      assert.equal(positions(found.steps), positions(expected.steps));
      plain.close();
      drafted.close();
    }
  }
  return total;
}

const [best = 'scalar'] = isas;
const few = [
  ['scalar', 1],
  [best, 3],
] as const;
for (const [name, options, machines] of [
  [
    'a window that wraps',
    { window: 16, anchors: 4, layers: 3 },
    isas.flatMap((isa) => [1, 2, 3].map((threads) => [isa, threads] as const)),
  ],
  ['int8, of the 194M form', { weights: 'int8', form: '194m', window: 9 }, few],
  ['no attention', { sparseAttn: false }, few],
  ['no dynamic prior', { dynamicPrior: false }, few],
] as const)
  test(`${name}: the same on every ISA and thread count`, async () => {
    const path = modelFile(options);
    for (const [isa, threads] of machines)
      await withModel(path, { isa, threads }, async (model) => {
        const { right, wrong } = await compare(model, true, 120);
        assert.ok(right > 50 && wrong > 20, `${String(right)} right, ${String(wrong)} wrong`);
      });
  });

test('the bundled model: a text that repeats, from every head', async () => {
  await withModel(join(root, 'models/default.gguf'), { threads: 2 }, async (model) => {
    const sentence = ids(24, 1900);
    const prompt = Int32Array.from([...sentence, ...sentence, ...sentence]);
    for (const mode of ['full', 'certified', 'gate'] as const) {
      const plain = model.openSession();
      const drafted = model.openSession();
      const options = { maxTokens: 150, head: { mode } };
      const expected = await generate(plain, prompt, greedy, options);
      const found = await generate(drafted, prompt, greedy, { ...options, maxDraft: 7 });
      assert.equal(found.ids, expected.ids, mode);
      assert.equal(await shown(drafted, true), await shown(plain, true), mode);
      assert.ok(outcomes(found.steps).right > 0);
      const rows = (steps: GeneratedStep[]) =>
        steps.map(({ head }) => [head.mode, head.rows, head.survivors]);
      assert.equal(rows(found.steps), rows(expected.steps));
      plain.close();
      drafted.close();
    }
  });
});

const ternary = (name: string): string => join(sharedDir() ?? 'shared', 'golden-bitnet', name, 'model.gguf');

for (const name of ['a_base', 'b_bitnet25_output', 'c_hd128_kv1', 'e_long200']) {
  const lacking = existsSync(ternary(name))
    ? undefined
    : `no golden-bitnet/${name} in shared/ beside the checkout`;
  test.needs(lacking, `ternary ${name}: the same, with keys of either kind`, async () => {
    const total = { right: 0, wrong: 0 };
    for (const setup of [{ threads: 3 }, { kv: 'f16', threads: 2 }] as EngineOptions[])
      await withModel(ternary(name), { context: 256, ...setup }, async (model) => {
        const { right, wrong } = await compare(model, false, 100);
        total.right += right;
        total.wrong += wrong;
      });
    assert.ok(
      total.right > 50 && total.wrong > 10,
      `${String(total.right)} right, ${String(total.wrong)} wrong`,
    );
  });
}

test.needs(
  existsSync(ternary('a_base')) ? undefined : 'no golden-bitnet/a_base in shared/ beside the checkout',
  'a context that is full in the middle of a draft: the ids and the error are those without',
  async () => {
    for (let context = 80; context < 96; context++)
      await withModel(ternary('a_base'), { context }, async (model) => {
        const ends: unknown[] = [];
        for (const maxDraft of [0, 7]) {
          const session = model.openSession();
          const sampling = among(model, 2);
          const seen: number[] = [];
          await session.forward(loop.subarray(0, -1), { logits: 'none' });
          const { code, message } = await failureOf(() =>
            session.generate(
              loop.subarray(-1),
              sampling,
              { maxTokens: 200, stopIds: none, maxDraft },
              (rows, n) => void seen.push(...generatedSteps(rows, n).map(({ id }) => id)),
            ),
          );
          assert.is(code, 'ERR_CONTEXT_FULL');
          assert.is(session.stats().position, context);
          ends.push([seen, message]);
          session.close();
        }
        assert.equal(ends[1], ends[0]);
      });
  },
);

test('a stop id in the middle of a draft is the last, and the session goes on from there', async () => {
  await withModel(modelFile({ window: 16, anchors: 4 }), {}, async (model) => {
    const sampling = among(model, 4, 1.05);
    const expected = await generate(model.openSession(), loop, sampling, { maxTokens: 90 });
    let inside = 0;
    for (const stop of new Set(expected.ids)) {
      const stopIds = Int32Array.of(stop);
      const plain = model.openSession();
      const drafted = model.openSession();
      const without = await generate(plain, loop, sampling, { stopIds });
      const found = await generate(drafted, loop, sampling, { stopIds, maxDraft: 7 });
      assert.equal(found.ids, without.ids);
      assert.equal(await shown(drafted, true), await shown(plain, true));
      const last = found.steps.findLast(({ draft }) => draft !== null)?.draft;
      inside += Number(last !== null && last !== undefined && last.right < last.guessed);
      // Fork and append come after a draft like after any step.
      const more = Int32Array.of(9, 9, 8);
      const fork = await drafted.fork();
      for (const session of [plain, drafted, fork]) await session.forward(more, { logits: 'none' });
      const [one, ...others] = await Promise.all([plain, drafted, fork].map((s) => shown(s, true)));
      for (const other of others) assert.equal(other, one);
      for (const session of [plain, drafted, fork]) session.close();
    }
    assert.ok(inside > 0, 'no stop id came in the middle of a draft');
  });
});

test('cancelled in the middle: what was drawn is right, and after a reset everything is', async () => {
  const slow = { layers: 6, dim: 128, heads: 4, ffn: 1024, vocab: 512 };
  await withModel(modelFile(slow), {}, async (model) => {
    const sampling = among(model, 2);
    const session = model.openSession();
    const seen: number[] = [];
    const { code } = await failureOf(() =>
      session.generate(loop, sampling, { maxTokens: 1_000_000, stopIds: none, maxDraft: 7 }, (rows, n) => {
        seen.push(...generatedSteps(rows, n).map(({ id }) => id));
        if (seen.length > 20) session.cancel();
      }),
    );
    assert.is(code, 'ERR_CANCELLED');
    const maxTokens = seen.length;
    const expected = await generate(model.openSession(), loop, sampling, { maxTokens });
    assert.equal(seen, expected.ids);
    session.reset();
    assert.equal((await generate(session, loop, sampling, { maxTokens, maxDraft: 3 })).ids, expected.ids);
  });
});

test('several with drafts step together, each as if alone; sampling and log-probabilities guess nothing', async () => {
  await withModel(modelFile({ window: 16, anchors: 4, layers: 3 }), { threads: 2 }, async (model) => {
    const drawn: Sampling = { ...among(model, 3), temperature: 1 };
    const runs: [Sampling, Partial<GenerateOptions>][] = [
      [among(model, 2), { maxDraft: 7 }],
      [among(model, 3), { maxDraft: 4 }],
      [among(model, 4), {}],
      [drawn, { maxDraft: 7 }],
      [among(model, 2), { maxDraft: 7, logprob: true }],
    ];
    const expected = [];
    for (const [sampling, { maxDraft: _, ...options }] of runs)
      expected.push((await generate(model.openSession(), loop, sampling, options)).ids);
    const sessions = runs.map(() => model.openSession());
    const found = await Promise.all(
      runs.map(([sampling, options], i) =>
        generate(sessions[i] ?? model.openSession(), loop, sampling, options),
      ),
    );
    assert.equal(
      found.map((one) => one.ids),
      expected,
    );
    const guessed = found.map(({ steps }) =>
      steps.reduce((sum, { draft }) => sum + (draft?.guessed ?? 0), 0),
    );
    assert.equal(
      guessed.map((n) => n > 0),
      [true, true, false, false, false],
    );
  });
});

test('maxDraft is held to its range', async () => {
  await withModel(modelFile({}), {}, async (model) => {
    const session = model.openSession();
    for (const maxDraft of [-1, 8, 1.5])
      assert.is(
        (
          await failureOf(() =>
            session.generate(loop, greedy, { maxTokens: 1, stopIds: none, maxDraft }, () => undefined),
          )
        ).code,
        'ERR_INVALID_ARGUMENT',
      );
  });
});

test.run();
