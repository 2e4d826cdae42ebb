/** Steps that the engine takes by itself: the same as one call each, whoever is late, and an end for every generate. */
import type {
  GeneratedStep,
  GenerateOptions,
  NativeModel,
  NativeSession,
  Sampling,
} from '../../native/host/addon-types.js';
import { generatedSteps } from '../../native/host/index.js';
import { greedy, ids, modelFile, withModel } from '../session/runs.js';
import { assert, suite } from '../tools/suite.js';
import { failureOf } from './helpers/failure.js';

const test = suite('addon generate');
const prompt = ids(5);
const none = new Int32Array();
/** Of which JavaScript hears every step long before it would be too far behind. */
const slow = { layers: 6, dim: 128, heads: 4, ffn: 1024, vocab: 512 };
const drawn: Sampling = { ...greedy, temperature: 1.3, topK: 20, topP: 0.9, repetitionPenalty: 1.2 };

/** What does not depend on the clock. */
function facts({ id, logprob, head, stats }: GeneratedStep) {
  const { projectionNs, priorNs, selectionNs, verificationNs, ...rest } = head;
  const parts = [projectionNs, priorNs, selectionNs, verificationNs].map((ns) => ns > 0);
  return { id, logprob, head: rest, parts, stats };
}

async function oneByOne(model: NativeModel, n: number, sampling: Sampling, logprob = false) {
  const session = model.openSession();
  session.seed(7n);
  const steps: GeneratedStep[] = [];
  for (let next = prompt; steps.length < n; next = Int32Array.of(steps.at(-1)?.id ?? 0)) {
    const step = await session.step(next, sampling, { logprob });
    steps.push({ ...step, stats: session.stats(), draft: null });
  }
  session.close();
  return steps;
}

/** Goes on until there are n steps; `each` is called with every call's steps. */
async function generated(
  session: NativeSession,
  n: number,
  sampling: Sampling,
  options: Partial<GenerateOptions> = {},
  each: (steps: GeneratedStep[]) => void = () => undefined,
) {
  const steps: GeneratedStep[] = [];
  let calls = 0;
  while (steps.length < n) {
    const next = steps.length === 0 ? prompt : Int32Array.of(steps.at(-1)?.id ?? 0);
    calls++;
    await session.generate(
      next,
      sampling,
      { maxTokens: n - steps.length, stopIds: none, ...options },
      (rows, count) => {
        const more = generatedSteps(rows, count);
        steps.push(...more);
        each(more);
      },
    );
  }
  return { steps, calls };
}

function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('the same steps as one call each: greedy, drawn, with log-probabilities', async () => {
  await withModel(modelFile({}), {}, async (model) => {
    for (const [sampling, logprob] of [
      [greedy, false],
      [drawn, true],
    ] as const) {
      const expected = await oneByOne(model, 300, sampling, logprob);
      const session = model.openSession();
      session.seed(7n);
      const { steps } = await generated(session, 300, sampling, { logprob });
      assert.equal(steps.map(facts), expected.map(facts));
      assert.equal(session.stats(), expected.at(-1)?.stats);
      for (const [i, { tNs }] of steps.entries()) assert.ok(i === 0 || tNs > (steps[i - 1]?.tNs ?? 0n));
    }
  });
});

test('the engine goes on while JavaScript is busy, but not without bound; nothing is lost', async () => {
  await withModel(modelFile({}), {}, async (model) => {
    const n = 3000;
    const expected = await oneByOne(model, n, greedy);
    let most = 0;
    const session = model.openSession();
    let handed = 0;
    const { steps, calls } = await generated(session, n, greedy, {}, (more) => {
      most = Math.max(most, more.length);
      if (handed++ < 3) block(300);
    });
    assert.equal(steps.map(facts), expected.map(facts));
    assert.is(most, 256);
    assert.ok(calls > 1);
  });
});

test('a stop id is the last; maxTokens is kept; generate goes on where it was', async () => {
  await withModel(modelFile({}), {}, async (model) => {
    const expected = (await oneByOne(model, 40, drawn)).map(({ id }) => id);
    const stop = expected[20] ?? 0;
    const first = expected.indexOf(stop);
    const session = model.openSession();
    session.seed(7n);
    const seen: number[] = [];
    const take = (rows: Float64Array, n: number): void =>
      void seen.push(...generatedSteps(rows, n).map(({ id }) => id));
    await session.generate(prompt, drawn, { maxTokens: 40, stopIds: Int32Array.of(95, stop) }, take);
    const at95 = expected.indexOf(95);
    const end = at95 >= 0 && at95 < first ? at95 : first;
    assert.equal(seen, expected.slice(0, end + 1));
    const last = Int32Array.of(seen.at(-1) ?? 0);
    await session.generate(last, drawn, { maxTokens: 3, stopIds: none }, take);
    assert.equal(seen, expected.slice(0, end + 4));
  });
});

test('pause ends it after a step, and it goes on the same', async () => {
  await withModel(modelFile(slow), {}, async (model) => {
    const expected = await oneByOne(model, 400, greedy);
    const session = model.openSession();
    session.pause(); // of no effect on what has not begun
    const { steps, calls } = await generated(session, 400, greedy, {}, () => session.pause());
    assert.equal(steps.map(facts), expected.map(facts));
    assert.ok(calls > 3, `${String(calls)} calls`);
  });
});

test('several step together, each as if alone, and other calls come between', async () => {
  await withModel(modelFile(slow), {}, async (model) => {
    const n = 60;
    const expected = [await oneByOne(model, n, greedy), await oneByOne(model, n, drawn, true)];
    for (let attempt = 0; ; attempt++) {
      const runs = [0, 1, 0].map((which) => ({
        which,
        session: model.openSession(),
        steps: [] as GeneratedStep[],
      }));
      const all = runs.map(({ which, session, steps }) => {
        session.seed(7n);
        const options = { maxTokens: n, stopIds: none, logprob: which === 1 };
        return session.generate(prompt, which === 1 ? drawn : greedy, options, (rows, count) => {
          steps.push(...generatedSteps(rows, count));
        });
      });
      const other = model.openSession();
      const { tNs } = await other.forward(prompt, { logits: 'none' });
      await Promise.all(all);
      for (const session of [other, ...runs.map((run) => run.session)]) session.close();
      const own = ({ id, logprob, stats }: GeneratedStep) => [id, logprob, stats.position, stats.ffnActive];
      for (const { which, steps } of runs) assert.equal(steps.map(own), expected[which]?.map(own));
      const before = runs.reduce((sum, { steps }) => sum + steps.filter((step) => step.tNs < tNs).length, 0);
      const joint = runs.flatMap(({ steps }) => steps.filter(({ stats }) => stats.batch === 3)).length;
      // JavaScript that is put aside between two calls of this test lets the first ones run alone.
      const late = before > 3 || joint < 3 * (n - 1);
      if (late && attempt < 20) continue;
      assert.is(joint, 3 * (n - 1), 'all but the prompts');
      assert.ok(before <= 3, `the forward came after ${String(before)} steps`);
      return;
    }
  });
});

test('cancel: what was drawn still comes, then ERR_CANCELLED', async () => {
  await withModel(modelFile(slow), {}, async (model) => {
    const session = model.openSession();
    const seen: GeneratedStep[] = [];
    const error = await failureOf(() =>
      session.generate(prompt, greedy, { maxTokens: 1_000_000, stopIds: none }, (rows, n) => {
        seen.push(...generatedSteps(rows, n));
        if (seen.length > 20) session.cancel();
      }),
    );
    assert.is(error.code, 'ERR_CANCELLED');
    const expected = await oneByOne(model, seen.length, greedy);
    assert.equal(seen.map(facts), expected.map(facts));
    session.reset();
    const { steps } = await generated(session, 10, greedy);
    assert.equal(steps.map(facts), expected.slice(0, 10).map(facts));
  });
});

test('closed in the middle: onSteps is called no more, and it ends', async () => {
  await withModel(modelFile({}), {}, async (model) => {
    const session = model.openSession();
    let calls = 0;
    const work = session.generate(prompt, greedy, { maxTokens: 200, stopIds: none }, () => {
      calls++;
      session.close();
    });
    await work;
    assert.is(calls, 1);
    assert.is((await failureOf(() => session.stats())).code, 'ERR_SESSION_CLOSED');
  });
});

test('what onSteps throws ends it and is what the call rejects with', async () => {
  await withModel(modelFile({}), {}, async (model) => {
    const session = model.openSession();
    for (const thrown of [new Error('mine'), 'a text', undefined]) {
      let calls = 0;
      const outcome: unknown = await session
        .generate(prompt, greedy, { maxTokens: 1_000_000, stopIds: none }, () => {
          calls++;
          // eslint-disable-next-line @typescript-eslint/only-throw-error -- the point of it
          throw thrown;
        })
        .then(
          () => 'no failure',
          (error: unknown) => error,
        );
      assert.is(outcome, thrown);
      assert.is(calls, 1);
      session.reset();
    }
    const { steps } = await generated(session, 5, greedy);
    assert.is(steps.length, 5);
  });
});

test('a failing first step rejects, others are refused while one runs', async () => {
  await withModel(modelFile({}), {}, async (model) => {
    const session = model.openSession();
    const options = { maxTokens: 100, stopIds: none };
    const never = (): void => assert.unreachable();
    assert.is(
      (await failureOf(() => session.generate(none, greedy, options, never))).code,
      'ERR_PROMPT_EMPTY',
    );
    const unknown = Int32Array.of(1, 96);
    assert.is(
      (await failureOf(() => session.generate(unknown, greedy, options, never))).code,
      'ERR_TOKEN_UNKNOWN',
    );
    const work = session.generate(prompt, greedy, options, () => undefined);
    const second = await failureOf(() => session.generate(prompt, greedy, options, never));
    assert.is(second.code, 'ERR_INVALID_ARGUMENT');
    assert.match(second.message, /expected an idle session/);
    await work;
  });
});

test.run();
