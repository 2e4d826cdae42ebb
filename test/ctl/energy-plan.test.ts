/** What `energy run` makes of a plan, and refuses, before anything is started. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { completePlan } from '../../client/ctl/energy/arms.js';
import { SpikedError } from '../../client/index.js';
import { readPlan } from '../../power/experiment/read-plan.js';
import { createTrace } from '../../power/trace/writer.js';
import { header, sample } from '../power/helpers/traces.js';
import { assert, suite, tempDir } from '../tools/suite.js';
import { failure } from './helpers/spikectl.js';

const test = suite('plan of energy run');
const base = tempDir();
const two = [{ name: 'a' }, { name: 'b' }];

/** A plan's file, of two arms that last as long as they like. */
function planFile(change: object): string {
  const path = join(base, 'plan.json');
  writeFileSync(path, JSON.stringify({ name: 'p', prompt: 'x', tokens: 9, arms: two, ...change }));
  return path;
}

async function refusal(change: object): Promise<SpikedError> {
  const path = planFile(change);
  const plan = await readPlan(path);
  try {
    completePlan(plan, path, { named: false });
  } catch (error) {
    if (error instanceof SpikedError) return error;
  }
  throw new Error('expected a refusal');
}

test('a model that is no file is told by its key', async () => {
  mkdirSync(join(base, 'folder'));
  const folder = await refusal({ model: 'folder' });
  assert.is(folder.code, 'ERR_PLAN_INVALID');
  assert.match(folder.message, /plan\.json: model: expected a model file, found a folder at .*\/folder$/);
  const absent = await refusal({ arms: [two[0], { name: 'b', model: 'absent.gguf' }] });
  assert.is(absent.code, 'ERR_FILE_NOT_FOUND');
  assert.match(absent.message, /arms\[1\]\.model: expected a model file, found none at .*\/absent\.gguf$/);
});

test('a record has times of its own: it is a meter only with time=now', async () => {
  const dir = join(base, 'trace');
  const trace = await createTrace(dir, header());
  trace.sample(sample(1_000_000_000n, 10));
  await trace.close();
  const text = await failure(['energy', 'run', planFile({}), '--meter', `file:${dir}`], 2, 'ERR_USAGE');
  assert.match(text, /expected a meter of now, found a record .* add time=now/);
});

test.run();
