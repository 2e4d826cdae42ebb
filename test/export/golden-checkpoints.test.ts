import { assert, suite } from '../tools/suite.js';
import { readFileSync } from 'node:fs';
import { goldenCases, goldenFile, missingGolden } from './helpers/golden.js';
import { readAll, withCheckpoint } from './helpers/reads.js';

const test = suite('reference checkpoints');

for (const name of goldenCases)
  test.needs(
    missingGolden(name, 'model.pt', 'model.safetensors'),
    `${name}: the torch archive and the safetensors file hold the same tensors and config`,
    async () => {
      await sameTensors(goldenFile(name, 'model.pt'), goldenFile(name, 'model.safetensors'));
      const index = JSON.parse(readFileSync(goldenFile(name, 'index.json'), 'utf8')) as {
        config: Record<string, unknown>;
      };
      await withCheckpoint(goldenFile(name, 'model.pt'), ({ config }) => {
        for (const [key, value] of Object.entries(index.config)) assert.is(config[key], value, key);
      });
    },
  );

test.needs(
  missingGolden('a_base08b', 'model_torch214.pt', 'model.safetensors'),
  'a_base08b: an archive written by a newer torch reads the same',
  () =>
    sameTensors(goldenFile('a_base08b', 'model_torch214.pt'), goldenFile('a_base08b', 'model.safetensors')),
);

async function sameTensors(pytorch: string, safetensors: string): Promise<void> {
  await withCheckpoint(pytorch, (left) =>
    withCheckpoint(safetensors, async (right) => {
      assert.equal([...left.tensors.keys()].sort(), [...right.tensors.keys()].sort());
      assert.ok(left.tensors.size > 25);
      for (const tensor of left.tensors.values()) {
        const other = right.tensors.get(tensor.name);
        assert.ok(other);
        assert.is(other.dtype, tensor.dtype, tensor.name);
        assert.equal(other.shape, tensor.shape, tensor.name);
        const bytes = (values: Float32Array) => Buffer.from(values.buffer);
        assert.is(Buffer.compare(bytes(await readAll(tensor)), bytes(await readAll(other))), 0, tensor.name);
      }
    }),
  );
}

test.run();
