import { assert, suite } from '../tools/suite.js';
import type { SpikedError } from '../../client/protocol/errors.js';
import { greedy, ids, logits, modelFile, withModel, withSession } from './runs.js';

const test = suite('sessions');

async function failure(work: Promise<unknown>): Promise<SpikedError> {
  return work.then(
    () => {
      throw new Error('expected a failure, found a result');
    },
    (error: unknown) => error as SpikedError,
  );
}

test('an unknown id is refused by name and nothing is fed', async () => {
  await withSession(modelFile({}), async (session) => {
    for (const [bad, says] of [
      [96, /token 2: expected an id from 0 to 95, found 96/],
      [-1, /token 2: expected an id from 0 to 95, found -1/],
    ] as const) {
      const error = await failure(session.forward(Int32Array.of(1, 2, bad), { logits: 'last' }));
      assert.is(error.code, 'ERR_TOKEN_UNKNOWN');
      assert.match(error.message, says);
      assert.is(session.stats().position, 0);
    }
    const empty = await failure(session.forward(new Int32Array(), { logits: 'last' }));
    assert.is(empty.code, 'ERR_PROMPT_EMPTY');
  });
});

test('scores are the log-softmax of the logits, padding slots masked', async () => {
  await withModel(modelFile({ tokenizerSize: 90 }), {}, async (model) => {
    const input = ids(40, 90);
    const rows = await logits(model.openSession(), input, 1);
    const { logprobs: scores, maskedMass } = await model.openSession().score(input, { maskedMass: true });
    assert.is(scores[0], 0);
    assert.is(maskedMass?.[0], 0);
    for (let i = 1; i < input.length; i++) {
      const row = Array.from(rows[i - 1] ?? []).slice(0, 90);
      const sum = row.reduce((s, z) => s + Math.exp(z), 0);
      const expected = (row[input[i] ?? 0] ?? NaN) - Math.log(sum);
      assert.ok(Math.abs((scores[i] ?? NaN) - expected) < 1e-12 * (1 + Math.abs(expected)), `position ${i}`);
      const all = Array.from(rows[i - 1] ?? []).reduce((s, z) => s + Math.exp(z), 0);
      assert.ok(Math.abs((maskedMass?.[i] ?? NaN) - (all - sum) / all) < 1e-12, `masked mass ${i}`);
    }
    const masked = await failure(model.openSession().score(Int32Array.of(1, 93)));
    assert.is(masked.code, 'ERR_TOKEN_UNKNOWN');
  });
});

test('a step feeds, then draws; greedy takes the largest valid logit', async () => {
  await withModel(modelFile({ tokenizerSize: 50 }), {}, async (model) => {
    const session = model.openSession();
    let feed = Int32Array.of(1, 5);
    const twin = model.openSession();
    for (let i = 0; i < 12; i++) {
      const step = await session.step(feed, greedy, { logprob: true });
      const row = (await twin.forward(feed, { logits: 'last' })).logits ?? new Float32Array();
      const valid = row.subarray(0, 50);
      assert.is(step.id, valid.indexOf(Math.max(...valid)));
      assert.ok(step.logprob !== null && step.logprob <= 0 && step.tNs > 0n);
      feed = Int32Array.of(step.id);
    }
    assert.is(session.stats().position, 13);
  });
});

test('kept positions are the anchors and the window', async () => {
  await withSession(modelFile({ window: 5, anchors: 2 }), async (session) => {
    await session.forward(ids(20), { logits: 'none' });
    assert.equal(Array.from(session.kvPositions()), [0, 1, 14, 15, 16, 17, 18, 19]);
  });
});

test('a cancelled pass ends with ERR_CANCELLED, and a reset session is as good as new', async () => {
  const path = modelFile({ layers: 6, dim: 128, heads: 4, ffn: 512 });
  await withModel(path, { threads: 2 }, async (model) => {
    const fresh = await logits(model.openSession(), ids(10), 10);
    const session = model.openSession();
    const work = session.forward(ids(4000), { logits: 'all' });
    session.cancel();
    assert.is((await failure(work)).code, 'ERR_CANCELLED');
    assert.is((await failure(session.forward(ids(1), { logits: 'none' }))).code, 'ERR_CANCELLED');
    session.reset();
    assert.equal(await logits(session, ids(10), 10), fresh);
  });
});

test('active columns are counted, and are the columns the bytes follow', async () => {
  await withModel(modelFile({ weights: 'int8' }), {}, async (model) => {
    const session = model.openSession();
    const trace = (await session.forward(ids(9), { logits: 'none', trace: { blockOut: false } })).trace;
    const sum = (v: Int32Array | undefined): number =>
      (v ?? new Int32Array()).reduce((a: number, b: number) => a + b, 0);
    const stats = session.stats();
    assert.is(stats.mixerActive, sum(trace?.activeMixer));
    assert.is(stats.ffnActive, sum(trace?.activeFfn));
    assert.is(stats.mixerTotal, 9 * 2 * 24);
    assert.is(stats.ffnTotal, 9 * 2 * 40);
    const none = stats.bytesTouched - (stats.mixerActive + stats.ffnActive) * 24;
    const other = model.openSession();
    await other.forward(ids(9, 50), { logits: 'none' });
    const s = other.stats();
    assert.is(s.bytesTouched - (s.mixerActive + s.ffnActive) * 24, none);
  });
});

test.run();
