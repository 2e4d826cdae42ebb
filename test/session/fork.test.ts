/** A fork goes on as its origin would, and each leaves the other alone. */
import { assert, suite } from '../tools/suite.js';
import type { NativeSession, Sampling } from '../../native/host/addon-types.js';
import type { TinyOptions } from '../tensor/tiny-model.js';
import { ids, modelFile, withModel } from './runs.js';

const test = suite('fork');

const sampling: Sampling = {
  temperature: 2,
  topK: 0,
  topP: 1,
  repetitionPenalty: 1.3,
  adaptiveTemperature: false,
  bannedIds: new Int32Array(),
};

/** Ids drawn one after the other, and all that the session then shows. */
async function goOn(session: NativeSession, first: number, n: number): Promise<unknown[]> {
  const seen: unknown[] = [];
  let next = first;
  for (let i = 0; i < n; i++) {
    const step = await session.step(Int32Array.of(next), sampling, { logprob: true });
    seen.push(step.id, step.logprob);
    next = step.id;
  }
  const { bytesTouched: _, stateBytes: __, ...stats } = session.stats();
  return [...seen, stats, session.membrane(), session.decayState(), session.kvPositions()];
}

const shapes: [string, TinyOptions][] = [
  ['f32', {}],
  ['int8, a window that has wrapped', { weights: 'int8', window: 5, anchors: 2 }],
  ['a window of some blocks', { window: 70, anchors: 3 }],
  ['no attention', { sparseAttn: false, dim: 20, heads: 2 }],
];

for (const [name, shape] of shapes)
  test(`${name}: at any length, with the same bits`, () =>
    withModel(modelFile(shape), {}, async (model) => {
      for (const length of [0, 1, 15, 16, 17, 33, 90, 150]) {
        const fed = ids(length, 90);
        const open = async (): Promise<NativeSession> => {
          const session = model.openSession();
          session.seed(7n);
          if (length > 0) await session.forward(fed, { logits: 'none' });
          return session;
        };
        const expected = await goOn(await open(), 3, 12);
        const origin = await open();
        const fork = await origin.fork();
        const other = await fork.fork();
        assert.not.equal(await goOn(other, 4, 12), expected);
        assert.equal(await goOn(origin, 3, 12), expected, `origin after ${String(length)}`);
        other.close();
        origin.close();
        assert.equal(await goOn(fork, 3, 12), expected, `fork after ${String(length)}`);
        fork.close();
      }
    }));

test('with a prefix cache a fork still finds its place', () =>
  withModel(modelFile({}), { prefixCacheBytes: 2 ** 24 }, async (model) => {
    const all = ids(96, 90);
    const first = model.openSession();
    await first.forward(all, { logits: 'none' });
    const session = model.openSession();
    await session.forward(all.subarray(0, 32), { logits: 'none' });
    const fork = await session.fork();
    session.close();
    await fork.forward(all.subarray(32), { logits: 'none' });
    assert.is(fork.stats().cachedPositions, 96);
    assert.equal(fork.membrane(), first.membrane());
  }));

test('a closed session and one at work are not forked', () =>
  withModel(modelFile({}), {}, async (model) => {
    const session = model.openSession();
    const work = session.forward(ids(40), { logits: 'none' });
    const failure = (call: Promise<unknown>): Promise<string> =>
      call.then(
        () => 'none',
        (error: unknown) => (error as { code: string }).code,
      );
    assert.is(await failure(session.fork()), 'ERR_INVALID_ARGUMENT');
    await work;
    session.close();
    assert.is(await failure(session.fork()), 'ERR_SESSION_CLOSED');
  }));

test.run();
