import { join } from 'node:path';
import { readFileSync, writeFileSync } from 'node:fs';
import { SpikedError } from '../../../client/protocol/errors.js';
import { orderOf } from '../../../power/experiment/order.js';
import { parsePlan, planDifference, planText, readPlan } from '../../../power/experiment/read-plan.js';
import { assert, root, suite, tempDir } from '../../tools/suite.js';

const test = suite('plan');
const least = { name: 'p', prompt: 'x', tokens: 80, arms: [{ name: 'a' }, { name: 'b' }] };

test('fills every default in, and says the same plan with the same bytes', () => {
  const plan = parsePlan(least, 'p.json');
  assert.is(plan.blocks, 6);
  assert.is(plan.trim_s, 2);
  assert.equal(plan.warm_up, { slope_percent_per_min: 0.5, min_s: 30, max_s: 600 });
  assert.equal(plan.thermal_gate, { within_celsius: 2, max_wait_s: 120 });
  assert.equal(plan.arms[0], { name: 'a', request: {}, daemon: {} });
  assert.is(planText(parsePlan(JSON.parse(planText(plan)), 'p.json')), planText(plan));
  const shuffled = Object.fromEntries(Object.entries(least).reverse());
  assert.is(planText(parsePlan(shuffled, 'p.json')), planText(plan));
});

const wrong: [string, unknown, string][] = [
  ['an unknown key', { ...least, bloks: 2 }, 'p.json: bloks: expected no such key, found 2'],
  [
    'an unknown key of an arm',
    { ...least, arms: [{ name: 'a' }, { name: 'b', daemon: { cores: 2 } }] },
    'p.json: arms[1].daemon.cores: expected no such key, found 2',
  ],
  ['a wrong type', { ...least, prompt: 7 }, 'p.json: prompt: expected string, found 7'],
  ['a value out of range', { ...least, blocks: 0 }, 'p.json: blocks: expected at least 1, found 0'],
  [
    'one arm',
    { ...least, arms: [{ name: 'a' }] },
    'p.json: arms: expected at least 2 items, found an array of 1 items',
  ],
  ['a choice', { ...least, window: 'all' }, 'p.json: window: expected "decode" or "full", found "all"'],
  [
    'neither count nor seconds',
    { ...least, tokens: undefined },
    'p.json: tokens, min_seconds: expected exactly one of the two, found neither',
  ],
  [
    'count and seconds',
    { ...least, min_seconds: 6 },
    'p.json: tokens, min_seconds: expected exactly one of the two, found both',
  ],
  [
    'a name twice',
    { ...least, arms: [{ name: 'a' }, { name: 'a' }] },
    'p.json: arms[1].name: expected a name of its own, found "a" twice',
  ],
  [
    'a warm-up without end',
    { ...least, warm_up: { min_s: 700 } },
    'p.json: warm_up.min_s: expected at most max_s, 600, found 700',
  ],
  ['no map', [], 'p.json: the whole: expected object, found an array of 0 items'],
];
for (const [what, raw, message] of wrong)
  test(`refuses ${what}, naming file, key, expected and found`, () => {
    const error = caught(() => parsePlan(raw, 'p.json'));
    assert.is(error.code, 'ERR_PLAN_INVALID');
    assert.is(error.message, message);
  });

test('refuses a file that is absent, and one that is no JSON', async () => {
  const folder = tempDir();
  const absent = await readPlan(join(folder, 'none.json')).catch((error: unknown) => error);
  assert.is((absent as SpikedError).code, 'ERR_FILE_NOT_FOUND');
  writeFileSync(join(folder, 'torn.json'), '{"name": "p",');
  const torn = await readPlan(join(folder, 'torn.json')).catch((error: unknown) => error);
  assert.is((torn as SpikedError).code, 'ERR_PLAN_INVALID');
  assert.match((torn as SpikedError).message, /torn\.json: expected JSON, found /);
});

test('names the key in which two plans differ', () => {
  const plan = parsePlan(least, 'p.json');
  assert.is(planDifference(plan, parsePlan(least, 'p.json')), null);
  const other = parsePlan(
    { ...least, arms: [{ name: 'a' }, { name: 'b', request: { top_k: 3 } }] },
    'p.json',
  );
  assert.is(planDifference(plan, other), 'arms[1].request.top_k: expected nothing, found 3');
});

test('the shipped plans are plans', async () => {
  const demo = await readPlan(join(root, 'models/energy-demo.json'));
  assert.is(demo.blocks, 2);
  assert.ok((demo.min_seconds ?? 0) >= 6);
  const paper = await readPlan(join(root, 'models/energy-paper.json'));
  assert.is(paper.tokens, 80);
  assert.is(paper.blocks, 1);
  assert.equal(
    paper.arms.slice(1).map(({ request }) => request['head']),
    [32, 64].map((k) => ({ mode: 'gate', scope: 'head', k, threshold: 4 })),
  );
});

test("the paper's order: baseline, candidate, candidate, baseline", async () => {
  const order = orderOf(await readPlan(join(root, 'models/energy-paper.json')));
  const [a, b, c] = ['f32-head', 'gate-k32', 'gate-k64'];
  assert.equal(
    order.map(({ slots }) => slots),
    [
      [a, b, b, a],
      [a, c, c, a],
    ],
  );
});

test('the example of docs/energy-plan.md is a plan of ten lines', () => {
  const page = readFileSync(join(root, 'docs/energy-plan.md'), 'utf8');
  const example = /```json\n([^`]+)```/.exec(page)?.[1] ?? '';
  assert.is(example.trimEnd().split('\n').length, 10);
  assert.is(parsePlan(JSON.parse(example), 'docs/energy-plan.md').arms.length, 2);
});

function caught(work: () => unknown): SpikedError {
  try {
    work();
  } catch (error) {
    if (error instanceof SpikedError) return error;
    throw error;
  }
  throw new Error('expected an error');
}

test.run();
