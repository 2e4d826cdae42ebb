/** Where an engine's threads are, and how its weights come into memory. */
import { readdirSync, readFileSync, truncateSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { addon, defaultThreads } from '../../native/host/index.js';
import type { EngineOptions, NativeEngine } from '../../native/host/index.js';
import { assert, suite } from '../tools/suite.js';
import { digest, greedy, ids, modelFile, withModel } from './runs.js';

const test = suite('placement');

function withEngine<T>(options: EngineOptions, body: (engine: NativeEngine) => T): T {
  const engine = addon().openEngine(options);
  try {
    return body(engine);
  } finally {
    engine.close();
  }
}

const field = (status: string, name: string): string =>
  new RegExp(`^${name}:\\t(.*)$`, 'm').exec(status)?.[1]?.trim() ?? '';

/** Of this process's threads, by name: the CPUs that each may use. */
function threadCpus(): { name: string; cpus: string }[] {
  return readdirSync('/proc/self/task').map((task) => {
    const status = readFileSync(`/proc/self/task/${task}/status`, 'utf8');
    return { name: field(status, 'Name'), cpus: field(status, 'Cpus_allowed_list') };
  });
}

const mine = field(readFileSync('/proc/self/status', 'utf8'), 'Cpus_allowed_list');
const firstCpu = /^\d+/.exec(mine)?.[0] ?? '0';

test('an engine that is told nothing has a thread for each big core, and says where they are', () => {
  withEngine({}, ({ threads, cpus, loading }) => {
    assert.ok(threads >= 1 && threads <= 256);
    assert.ok(cpus === 'none' || /^\d[\d,-]*$/.test(cpus), cpus);
    assert.is(loading, 'readahead');
    assert.is(defaultThreads(), Math.min(threads, availableParallelism()));
  });
});

test('--cpus keeps the engine thread and the workers to its CPUs, and nobody else', () => {
  const before = threadCpus().length;
  withEngine({ threads: 3, cpus: firstCpu }, ({ threads, cpus }) => {
    assert.equal([threads, cpus], [3, firstCpu]);
    const found = threadCpus();
    assert.ok(found.length >= before + 3);
    assert.ok(found.some(({ name, cpus: at }) => name === 'spiked-engine' && at === firstCpu));
    if (firstCpu !== mine) assert.is(found.filter(({ cpus: at }) => at === firstCpu).length, 3);
    assert.is(field(readFileSync('/proc/self/status', 'utf8'), 'Cpus_allowed_list'), mine, 'this thread');
  });
});

test('a list without a number of threads has one for each CPU', () => {
  withEngine({ cpus: firstCpu }, ({ threads }) => assert.is(threads, 1));
  withEngine({ cpus: 'none' }, ({ cpus }) => assert.is(cpus, 'none'));
  assert.is(defaultThreads(firstCpu), 1);
});

test('the same bits however the file comes into memory, and wherever the threads are', async () => {
  const path = modelFile({ weights: 'int8' });
  const seen = new Set<string>();
  for (const setup of [
    {},
    { loading: 'prefault' },
    { loading: 'huge_pages' },
    { loading: 'huge_pages', threads: 2, cpus: 'none' },
    { threads: 3, cpus: firstCpu },
  ] as const)
    await withModel(path, setup, async (model) => {
      seen.add(await digest(model.openSession(), ids(40), 7));
    });
  assert.is(seen.size, 1);
});

test('a copy in huge pages no longer needs the file', async () => {
  const path = modelFile({});
  const greedyIds = (model: {
    openSession(): { step: (ids: Int32Array, s: typeof greedy) => Promise<{ id: number }> };
  }) => model.openSession().step(ids(5), greedy);
  const expected = await withModel(path, {}, greedyIds);
  await withModel(path, { loading: 'huge_pages' }, async (model) => {
    truncateSync(path, 0);
    assert.is((await greedyIds(model)).id, expected.id);
  });
});

test('a copy that the machine has no room for is refused, with the figures', async () => {
  const path = modelFile({});
  truncateSync(path, 2 ** 42);
  const error = await withModel(path, { loading: 'huge_pages' }, () => Promise.resolve()).catch(
    (thrown: unknown) => thrown as Error & { code: string },
  );
  assert.is(error?.code, 'ERR_NO_MEMORY');
  assert.match(error?.message ?? '', /: a copy in huge pages: expected 4398046511104 bytes .*, found \d+$/);
});

test.run();
