/** What an engine's memory budget is promised to, and what it refuses. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { addon } from '../../native/host/index.js';
import type { EngineMemory, EngineOptions, NativeEngine } from '../../native/host/index.js';
import { assert, root, run, suite } from '../tools/suite.js';
import { greedy, ids, modelFile } from './runs.js';

const test = suite('memory');
/** Sessions that count, of a model that does not; nobody touches most of them. */
const wide = { window: 20_000, dim: 64, layers: 4, context: 512 };
const sessionBytes = 4 * 64 * 2 * 4 * 20_000;

function withEngine<T>(options: EngineOptions, body: (engine: NativeEngine) => Promise<T>): Promise<T> {
  const engine = addon().openEngine({ threads: 1, ...options });
  return body(engine).finally(() => engine.close());
}

function promised({ budgetBytes: _, ...memory }: EngineMemory): number {
  return Object.values(memory).reduce((sum, bytes) => sum + bytes, 0);
}

async function refused(what: RegExp, call: () => unknown): Promise<void> {
  const error = await Promise.resolve()
    .then(call)
    .then(
      () => undefined,
      (thrown: unknown) => thrown as Error & { code: string },
    );
  assert.is(error?.code, 'ERR_RAM_BUDGET', error?.message);
  assert.match(error?.message ?? '', what);
  assert.match(error?.message ?? '', /needs \d+ bytes: .*, found \d+ of \d+ bytes in use$/);
}

test('a budget of 64 bytes fails at once', () =>
  refused(/^the process before any model: needs \d+ bytes: .*found 0 of 64 bytes/, () =>
    addon().openEngine({ ramBudgetBytes: 64 }),
  ));

test('without a budget everything is counted all the same, by class, and given back', async () => {
  const path = modelFile(wide);
  const size = statSync(path).size;
  await withEngine({ prefixCacheBytes: 12_345 }, async (engine) => {
    const before = engine.memory();
    assert.is(before.budgetBytes, null);
    assert.is(promised(before), before.baseBytes);
    assert.ok(before.baseBytes > 2 ** 20);
    const model = await engine.openModel(path);
    assert.is(engine.memory().weightsBytes, size);
    assert.is(engine.memory().prefixCacheBytes, 12_345);
    assert.ok(engine.memory().scratchBytes > 0);
    const session = model.openSession();
    const one = engine.memory().sessionsBytes;
    assert.ok(one > sessionBytes && one < 1.1 * sessionBytes, `${String(one)} bytes`);
    const another = model.openSession();
    assert.is(engine.memory().sessionsBytes, 2 * one);
    another.close();
    assert.is(engine.memory().copiesBytes, 0);
    await session.step(ids(3), greedy, { head: { mode: 'certified' } });
    assert.ok(engine.memory().copiesBytes > 0, "the certified head's tables");
    assert.is(engine.memory().sessionsBytes, one, 'the session that made them is gone');
    session.close();
    model.close();
    assert.equal(engine.memory(), before);
  });
  await withEngine({ loading: 'huge_pages' }, async (engine) => {
    const model = await engine.openModel(path);
    assert.equal([engine.memory().weightsBytes, engine.memory().copiesBytes], [0, size]);
    model.close();
    assert.is(engine.memory().copiesBytes, 0);
  });
});

test('a session that would cross it is refused until another is closed; a model, too', async () => {
  const path = modelFile(wide);
  const big = modelFile({ vocab: 65_536, dim: 64 });
  const base = await withEngine({}, (engine) => Promise.resolve(engine.memory().baseBytes));
  await withEngine({ ramBudgetBytes: base + 2.5 * sessionBytes }, async (engine) => {
    const model = await engine.openModel(path);
    const [a, b] = [model.openSession(), model.openSession()];
    await refused(/tiny-\d+\.gguf: a session: needs/, () => model.openSession());
    const before = engine.memory();
    await refused(/tiny-\d+\.gguf: needs/, () => engine.openModel(big));
    assert.equal(engine.memory(), before);
    const { id } = await a.step(ids(5), greedy);
    assert.is((await b.step(ids(5), greedy)).id, id, 'those that are there go on');
    b.close();
    assert.is((await model.openSession().step(ids(5), greedy)).id, id);
  });
});

test("the certified head's tables are refused, and made once there is room", async () => {
  const path = modelFile({ vocab: 65_536, dim: 64 });
  const head = { head: { mode: 'certified' } } as const;
  const tables = (65_536 * 64) / 2;
  await withEngine({ ramBudgetBytes: process.memoryUsage.rss() + 100e6 }, async (engine) => {
    const session = (await engine.openModel(path)).openSession();
    const room = (engine.memory().budgetBytes ?? 0) - promised(engine.memory());
    const filler = await engine.openModel(modelFile({ ...wide, window: Math.floor((room - tables) / 2200) }));
    const full = filler.openSession();
    await refused(/: the head's tables: needs/, () => session.step(ids(5), greedy, head));
    full.close();
    session.reset();
    assert.is((await session.step(ids(5), greedy, head)).head.mode, 'certified');
  });
});

for (const loading of ['prefault', 'huge_pages'] as const)
  test(`what is promised is what the process grows by, within 5 %: ${loading}`, async () => {
    const path = modelFile({ vocab: 65_536, dim: 256, heads: 4, layers: 4, context: 2048, window: 1024 });
    const child = join(root, 'dist/test/session/children/memory-growth.js');
    const result = await run(process.execPath, [child, path, loading], { timeoutMs: 300_000 });
    assert.is(result.code, 0, result.stderr);
    const { grownBytes, promisedBytes } = JSON.parse(result.stdout) as Record<
      'grownBytes' | 'promisedBytes',
      number
    >;
    assert.ok(grownBytes > 200e6, result.stdout);
    assert.ok(Math.abs(promisedBytes / grownBytes - 1) < 0.05, result.stdout);
  });

test.run();
