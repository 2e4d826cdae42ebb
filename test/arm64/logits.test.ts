import { join } from 'node:path';
import type { Activations } from '../../native/host/index.js';
import { goldenModel, smallCase } from '../daemon/helpers/models.js';
import { assert, root, run, suite } from '../tools/suite.js';
import { tinyModelFile, tinyWeights } from '../tools/tiny-model.js';
import { buildArm64, cpus, noArm64Node, runArm64Node } from './arm64.js';

const test = suite('arm64 logits');
const ctl = 'client/ctl/main.js';
/** Longer than the tiny model's window, and more than one batch of 7. */
const ids = Array.from({ length: 24 }, (_, i) => (i * 37 + 5) % 90).join(',');

const digestArgs = (model: string, threads: number, batch: number, activations = 'f32'): string[] => [
  ...['logits', model, '--ids', ids, '--sha256'],
  ...['--threads', String(threads), '--batch', String(batch), '--activations', activations],
];

function digest(result: { code: number | null; stdout: string; stderr: string }): string {
  assert.is(result.code, 0, result.stderr);
  const found = /\b[0-9a-f]{64}\b/.exec(result.stdout)?.[0];
  assert.ok(found, `no SHA-256 in: ${result.stdout}`);
  return found;
}

async function here(
  model: string,
  isa: string,
  threads: number,
  batch: number,
  activations?: Activations,
): Promise<string> {
  const args = [join(root, 'dist', ctl), ...digestArgs(model, threads, batch, activations)];
  return digest(await run(process.execPath, args, { env: { SPIKED_FORCE_ISA: isa } }));
}

const shapes = [
  [1, 24],
  [2, 7],
] as const;

async function sameBitsEverywhere(model: string): Promise<void> {
  const expected = await here(model, 'scalar', 1, 24);
  const scalar = { env: { SPIKED_FORCE_ISA: 'scalar' } };
  assert.is(
    digest(await runArm64Node('cortex-a76', ctl, digestArgs(model, 1, 24), scalar)),
    expected,
    'scalar on arm64',
  );
  for (const [threads, batch] of shapes) {
    assert.is(await here(model, '', threads, batch), expected, `this machine, ${threads} threads`);
    for (const cpu of cpus) {
      const found = digest(await runArm64Node(cpu, ctl, digestArgs(model, threads, batch)));
      assert.is(found, expected, `${cpu}, ${threads} threads, ${batch} at a time`);
    }
  }
}

test.needs(noArm64Node, 'the addon builds for arm64', async () => {
  const { code, stderr } = await buildArm64();
  assert.is(code, 0, stderr);
});

for (const weights of tinyWeights) {
  test.needs(
    noArm64Node,
    `logits are the same bits here, forced scalar, and on ${cpus.join(' and ')}: tiny ${weights}`,
    () => sameBitsEverywhere(tinyModelFile(weights)),
  );
}

test.needs(noArm64Node, 'the same for a reference model in INT8', async () => {
  const model = await goldenModel(smallCase, { name: 'small-int8', weights: 'int8' });
  const found = digest(await runArm64Node('cortex-a76', ctl, digestArgs(model, 2, 7)));
  assert.is(found, await here(model, 'scalar', 1, 24));
});

for (const [weights, activations] of [
  ['int8', 'i16'],
  ['int8', 'i8'],
  ['int4mix', 'i16'],
  ['int4mix', 'i8'],
] as const) {
  test.needs(noArm64Node, `the same with ${activations} activations: tiny ${weights}`, async () => {
    const model = tinyModelFile(weights);
    const expected = await here(model, 'scalar', 1, 24, activations);
    assert.is(await here(model, '', 2, 7, activations), expected, 'this machine');
    for (const cpu of cpus) {
      const found = digest(await runArm64Node(cpu, ctl, digestArgs(model, 2, 7, activations)));
      assert.is(found, expected, cpu);
    }
    assert.is.not(await here(model, '', 1, 24), expected, 'f32 activations');
  });
}

test.needs(noArm64Node, 'other weights give another digest', async () => {
  const digests = await Promise.all(tinyWeights.map((weights) => here(tinyModelFile(weights), '', 1, 24)));
  assert.is(new Set(digests).size, tinyWeights.length);
});

test.needs(noArm64Node, 'each CPU takes its own instruction set, and refuses one it lacks', async () => {
  const chosen = { 'cortex-a53': 'neon', 'cortex-a76': 'neon_dotprod' };
  for (const cpu of cpus) {
    const { stdout } = await runArm64Node(cpu, ctl, ['version', '--json']);
    assert.is((JSON.parse(stdout) as { isa: string }).isa, chosen[cpu]);
  }
  const forced = { env: { SPIKED_FORCE_ISA: 'neon_dotprod' } };
  const refused = await runArm64Node('cortex-a53', ctl, digestArgs(tinyModelFile('f32'), 1, 1), forced);
  assert.is(refused.code, 1);
  assert.match(refused.stderr, /ERR_ISA_UNSUPPORTED/);
});

test.run();
