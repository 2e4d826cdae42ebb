/** A ternary model's logits and its heads' ids, the same bits on every instruction set. */
import { join } from 'node:path';
import { assert, root, run, suite } from '../tools/suite.js';
import { tinyModelFile } from '../tools/tiny-model.js';
import { buildArm64, cpus, noArm64Node, runArm64Node } from './arm64.js';

const test = suite('arm64 ternary');
const program = 'test/arm64/ternary-once.js';
const model = tinyModelFile('i2_s');

type Answers = Record<string, unknown>;

function answers(result: { code: number | null; stdout: string; stderr: string }): Answers {
  assert.is(result.code, 0, result.stderr);
  return JSON.parse(result.stdout) as Answers;
}

async function here(isa: string): Promise<Answers> {
  const args = [join(root, 'dist', program), model];
  return answers(await run(process.execPath, args, { env: { SPIKED_FORCE_ISA: isa } }));
}

let expected: Answers;
test.before(async () => {
  expected = await here('scalar');
});

test.needs(noArm64Node, 'the addon builds for arm64', async () => {
  const { code, stderr } = await buildArm64();
  assert.is(code, 0, stderr);
});

test('what may change nothing changes nothing, and what changes bits does', async () => {
  const of = (name: string): unknown => expected[name] ?? assert.unreachable(`no "${name}"`);
  for (const name of Object.keys(expected))
    assert.equal(expected[name.replace('normal', 'low')], of(name), name);
  assert.is.not(of('logits, kv f16, memory low'), of('logits, kv f32, memory low'));
  const ids = (head: string): unknown => (of(`${head}, memory low`) as { ids: number[] }).ids;
  for (const bits of ['8 bits', '4 bits'])
    assert.equal(ids(`certified, ${bits}`), ids(`full, ${bits}`), bits);
});

test('this machine gives the bits of scalar', async () => {
  assert.equal(await here(''), expected);
});

for (const cpu of cpus)
  test.needs(noArm64Node, `${cpu} gives the bits of scalar here`, async () => {
    assert.equal(answers(await runArm64Node(cpu, program, [model])), expected);
  });

test.run();
