import { runInLanes } from './lanes.js';
import { assert, suite } from './suite.js';

const test = suite('lanes');

interface Job {
  readonly name: string;
  readonly waits: boolean;
}
const job = (name: string): Job => ({ name, waits: name.startsWith('w') });

/** Runs jobs that end in the order of `ends`; returns what was told, what came back, and which ran together. */
async function runJobs(names: readonly string[], ends: readonly string[]) {
  const together = new Set<string>();
  const begun: string[] = [];
  const running = new Map<string, () => void>();
  const told: string[] = [];
  const left = [...ends];
  /** Ends the next one as soon as it runs. */
  const turn = (): void => {
    const end = running.get(left[0] ?? '');
    if (end === undefined) return;
    left.shift();
    end();
  };
  const outcomes = await runInLanes(names.map(job), {
    waits: ({ waits }) => waits,
    long: ({ name }) => name.endsWith('long'),
    run: async ({ name }) => {
      begun.push(name);
      await new Promise<void>((resolve) => {
        running.set(name, resolve);
        together.add([...running.keys()].sort().join());
        setImmediate(turn);
      });
      running.delete(name);
      setImmediate(turn);
      return `${name}!`;
    },
    tell: (outcome) => told.push(outcome),
  });
  return { told, outcomes, together, begun };
}

test('told and returned in the order of the jobs, whichever ends first', async () => {
  const names = ['c1', 'w1', 'c2', 'w2', 'c3'];
  const expected = names.map((name) => `${name}!`);
  for (const ends of [
    ['w1', 'w2', 'c1', 'c2', 'c3'],
    ['c1', 'c2', 'c3', 'w1', 'w2'],
    ['c1', 'w1', 'c2', 'w2', 'c3'],
  ]) {
    const { told, outcomes } = await runJobs(names, ends);
    assert.equal(told, expected);
    assert.equal(outcomes, expected);
  }
});

test('never two that compute; the lane without any helps with those that wait', async () => {
  const { together } = await runJobs(['c1', 'c2', 'w1', 'w2', 'w3'], ['w1', 'c1', 'c2', 'w2', 'w3']);
  for (const set of together) assert.not.match(set, /c.*c|,.*,/);
  assert.ok(together.has('c1,w1') && together.has('w2,w3'), [...together].join(' '));
});

test('in each lane those that take long begin first; told in the order of the jobs all the same', async () => {
  const names = ['c1', 'w1', 'c2long', 'w2long'];
  const { begun, told } = await runJobs(names, ['c2long', 'w2long', 'c1', 'w1']);
  assert.equal(begun, ['c2long', 'w2long', 'c1', 'w1']);
  assert.equal(told, names.map((name) => `${name}!`)); // prettier-ignore
});

test('only one kind, and nothing at all', async () => {
  const computing = await runJobs(['c1', 'c2'], ['c1', 'c2']);
  assert.equal([...computing.together], ['c1', 'c2']);
  assert.equal((await runJobs([], [])).outcomes, []);
});

test('what a job throws is thrown', async () => {
  const failed = runInLanes([1, 2], {
    waits: (n) => n === 2,
    long: () => false,
    run: (n) => (n === 1 ? Promise.reject(new Error('planted')) : Promise.resolve()),
    tell: () => undefined,
  });
  const error: unknown = await failed.catch((thrown: unknown) => thrown);
  assert.is((error as Error).message, 'planted');
});

test.run();
