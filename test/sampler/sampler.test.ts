import { assert, suite } from '../tools/suite.js';
import type { NativeSession, Sampling } from '../../native/host/addon-types.js';
import { greedy, ids, modelFile, withModel, withSession } from '../session/runs.js';

const test = suite('sampling');
const warm: Sampling = { ...greedy, temperature: 1 };

async function draws(session: NativeSession, seed: bigint, sampling: Sampling, n: number): Promise<number[]> {
  session.reset();
  session.seed(seed);
  const out: number[] = [];
  let feed = ids(4);
  for (let i = 0; i < n; i++) {
    const { id } = await session.step(feed, sampling);
    out.push(id);
    feed = Int32Array.of(id);
  }
  return out;
}

test('the same seed draws the same ids, another seed others', async () => {
  await withSession(modelFile({}), async (session) => {
    const first = await draws(session, 7n, warm, 20);
    assert.equal(await draws(session, 7n, warm, 20), first);
    assert.not.equal(await draws(session, 8n, warm, 20), first);
    assert.not.equal(await draws(session, 7n + (1n << 63n), warm, 20), first);
  });
});

test('draws follow SplitMix64: its first output decides between the candidates', async () => {
  await withSession(modelFile({}), async (session) => {
    await session.forward(ids(4), { logits: 'last' });
    const candidates = session.probabilities(warm);
    // First outputs of the published generator for seeds 0 and 1.
    for (const [seed, output] of [
      [0n, 0xe220a8397b1dcdafn],
      [1n, 0x910a2dec89025cc1n],
    ] as const) {
      const u = Number(output >> 11n) / 2 ** 53;
      let cumulative = 0;
      const expected = candidates.find((c) => (cumulative += c.probability) > u)?.id;
      assert.is((await draws(session, seed, warm, 1))[0], expected);
    }
  });
});

test('many draws have the frequencies of the distribution', async () => {
  await withSession(modelFile({}), async (session) => {
    await session.forward(ids(4), { logits: 'last' });
    const settings = { ...warm, topK: 4 };
    const candidates = session.probabilities(settings);
    const n = 3000;
    const counts = new Map<number, number>();
    for (let i = 0; i < n; i++) {
      const [id = -1] = await draws(session, BigInt(i), settings, 1);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    assert.is(candidates.length, 4);
    for (const c of candidates) {
      const deviation = Math.sqrt((c.probability * (1 - c.probability)) / n);
      assert.ok(Math.abs((counts.get(c.id) ?? 0) / n - c.probability) < 5 * deviation, `id ${c.id}`);
    }
  });
});

test('masks, bans, top-k and top-p leave what they should, in order', async () => {
  await withModel(modelFile({ tokenizerSize: 60 }), {}, async (model) => {
    const session = model.openSession();
    const logits = (await session.forward(ids(4), { logits: 'last' })).logits ?? new Float32Array();
    const all = session.probabilities(warm);
    assert.is(all.length, 60);
    assert.ok(Math.abs(all.reduce((s, c) => s + c.probability, 0) - 1) < 1e-5);
    const order = Array.from({ length: 60 }, (_, i) => i).sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0));
    assert.equal(
      all.map((c) => c.id),
      order,
    );
    const best = order.slice(0, 3);
    const banned = session.probabilities({ ...warm, bannedIds: Int32Array.from(best) });
    assert.is(banned.length, 57);
    assert.not.ok(banned.some((c) => best.includes(c.id)));
    assert.is(session.probabilities({ ...warm, topK: 9 }).length, 9);
    const nucleus = session.probabilities({ ...warm, topP: 0.5 });
    let before = 0;
    for (const c of all.slice(0, nucleus.length)) {
      assert.ok(before <= 0.5);
      before += c.probability;
    }
    assert.ok(before > 0.5);
    assert.equal(session.probabilities(greedy), [{ id: best[0] ?? -1, probability: 1 }]);
  });
});

test('bad settings name the setting, what was expected and what was found', async () => {
  await withSession(modelFile({}), async (session) => {
    await session.forward(ids(4), { logits: 'last' });
    const cases: [Partial<Sampling>, RegExp][] = [
      [{ temperature: -1 }, /temperature: expected .* found -1/],
      [{ temperature: NaN }, /temperature: expected/],
      [{ topP: 0 }, /top_p: expected a number in \(0, 1\], found 0/],
      [{ topP: 1.5 }, /topP: expected/],
      [{ topK: -3 }, /top_?k: expected/i],
      [{ repetitionPenalty: 0 }, /repetitionPenalty: expected/],
      [{ bannedIds: Int32Array.from({ length: 96 }, (_, i) => i) }, /banned: all 96 ids are banned/],
    ];
    for (const [change, says] of cases)
      assert.throws(
        () => session.probabilities({ ...warm, ...change }),
        (e: Error & { code: string }) => e.code === 'ERR_INVALID_ARGUMENT' && says.test(e.message),
      );
  });
});

test.run();
