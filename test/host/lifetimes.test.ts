/** Handles closed in any order and at any time, calls that overlap, and an event loop that is never held up. */
import { addon } from '../../native/host/addon.js';
import type { NativeSession } from '../../native/host/addon-types.js';
import { assert, suite } from '../tools/suite.js';
import { greedy, ids, modelFile, withModel, withSession } from '../session/runs.js';
import { failureOf } from './helpers/failure.js';

const test = suite('addon lifetimes');
const slow = { layers: 6, dim: 128, heads: 4, ffn: 1024, vocab: 512 };

test('parents closed while a call is under way: the call ends as if they were not', async () => {
  const path = modelFile({});
  const expected = await withSession(path, async (session) =>
    session.forward(ids(64), { logits: 'last' }).then(({ logits }) => logits),
  );
  const engine = addon().openEngine({ threads: 2 });
  const model = await engine.openModel(path);
  const session = model.openSession();
  const work = session.forward(ids(64), { logits: 'last' });
  engine.close();
  model.close();
  session.close();
  assert.equal((await work).logits, expected);
});

test('an engine closed while a model opens still gives it', async () => {
  const engine = addon().openEngine({ threads: 1 });
  const opening = engine.openModel(modelFile({}));
  engine.close();
  const session = (await opening).openSession();
  assert.is((await session.forward(ids(3), { logits: 'last' })).logits?.length, 96);
});

test('what was closed says so; closing twice and cancelling are harmless', async () => {
  const engine = addon().openEngine({ threads: 1 });
  const model = await engine.openModel(modelFile({}));
  const session = model.openSession();
  for (let i = 0; i < 2; i++) {
    session.close();
    model.close();
    engine.close();
  }
  session.cancel();
  session.pause();
  const calls: (() => unknown)[] = [
    () => session.forward(ids(1), { logits: 'last' }),
    () => session.step(ids(1), greedy),
    () => session.generate(ids(1), greedy, { maxTokens: 1, stopIds: ids(1) }, () => undefined),
    () => session.score(ids(2)),
    () => session.probabilities(greedy),
    () => session.seed(1n),
    () => session.reset(),
    () => session.stats(),
    () => session.membrane(),
    () => session.decayState(),
    () => session.kvPositions(),
    () => model.openSession(),
    () => engine.openModel('x'),
  ];
  for (const call of calls) assert.is((await failureOf(call)).code, 'ERR_SESSION_CLOSED', call.toString());
  assert.is(model.info.vocabSize, 96);
});

test('a session takes one call at a time', async () => {
  await withSession(modelFile(slow), async (session) => {
    const work = session.forward(ids(200, 512), { logits: 'none' });
    const calls: (() => unknown)[] = [
      () => session.forward(ids(1), { logits: 'last' }),
      () => session.step(ids(1), greedy),
      () => session.score(ids(2)),
      () => session.probabilities(greedy),
      () => session.seed(1n),
      () => session.reset(),
      () => session.stats(),
      () => session.membrane(),
      () => session.decayState(),
      () => session.kvPositions(),
    ];
    for (const call of calls) {
      const error = await failureOf(call);
      assert.is(error.code, 'ERR_INVALID_ARGUMENT', call.toString());
      assert.match(error.message, /expected an idle session, found a call under way on it/);
    }
    await work;
    assert.is(session.stats().position, 200);
  });
});

test('sessions of one engine take turns and do not mix', async () => {
  await withModel(modelFile({}), { threads: 2 }, async (model) => {
    const alone = await model.openSession().forward(ids(50), { logits: 'last' });
    const sessions = Array.from({ length: 8 }, () => model.openSession());
    const results = await Promise.all(
      sessions.map((session) => session.forward(ids(50), { logits: 'last' })),
    );
    for (const { logits } of results) assert.equal(logits, alone.logits);
  });
});

/** As many ids as keep this machine busy for about `ms`. */
async function idsFor(session: NativeSession, ms: number): Promise<Int32Array> {
  const sample = ids(400, 512);
  const started = performance.now();
  await session.forward(sample, { logits: 'none' });
  const msPerId = (performance.now() - started) / sample.length;
  session.reset();
  return ids(Math.min(200_000, Math.ceil(ms / msPerId)), 512);
}

test('the event loop runs on while a long prompt is fed', async () => {
  await withModel(modelFile(slow), { threads: 1 }, async (model) => {
    const session = model.openSession();
    const prompt = await idsFor(session, 800);
    const started = performance.now();
    let last = started;
    let longestMs = 0;
    let ticks = 0;
    const timer = setInterval(() => {
      const now = performance.now();
      longestMs = Math.max(longestMs, now - last);
      last = now;
      ticks++;
    }, 2);
    await session.forward(prompt, { logits: 'last', trace: { blockOut: false } });
    clearInterval(timer);
    const tookMs = performance.now() - started;
    assert.ok(tookMs > 200, `the prompt took only ${tookMs} ms: too short to tell`);
    assert.ok(
      ticks > 20 && longestMs < tookMs / 3,
      `${ticks} ticks, the longest gap ${longestMs} of ${tookMs} ms`,
    );
  });
});

test('cancel ends a running call early, and a waiting one at once', async () => {
  await withModel(modelFile(slow), { threads: 1 }, async (model) => {
    const [first, second] = [model.openSession(), model.openSession()];
    const prompt = await idsFor(first, 3000);
    const started = performance.now();
    const running = failureOf(() => first.forward(prompt, { logits: 'none' }));
    const waiting = failureOf(() => second.score(prompt));
    await new Promise((resolve) => setTimeout(resolve, 30));
    first.cancel();
    second.cancel();
    assert.is((await running).code, 'ERR_CANCELLED');
    assert.is((await waiting).code, 'ERR_CANCELLED');
    const tookMs = performance.now() - started;
    assert.ok(tookMs < 1000, `ended after ${tookMs} ms; the two would take some 6000 ms`);
  });
});

test.run();
