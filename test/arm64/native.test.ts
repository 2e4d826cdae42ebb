import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { foreignSymbols, isaObjects } from '../layers/isa-symbols.js';
import { runProgram } from '../tools/native-build.js';
import { assert, root, suite } from '../tools/suite.js';
import { tinyModelFile, tinyWeights } from '../tools/tiny-model.js';
import { buildArm64, buildFolder, cpus, launcher, noEmulation } from './arm64.js';

const test = suite('arm64 native');

test.needs(noEmulation, 'addon and test programs build for arm64', async () => {
  const { code, stdout, stderr } = await buildArm64();
  assert.is(code, 0, stdout + stderr);
  assert.is(
    readFileSync(join(root, buildFolder, 'Release/spiked.node')).readUInt16LE(18),
    183,
    'ELF machine',
  );
});

test.needs(noEmulation, 'ISA objects export functions of their own namespace only', async () => {
  const objects = isaObjects(join(root, buildFolder));
  assert.ok(
    objects.some(({ isa }) => isa === 'neon'),
    'no neon object was built',
  );
  for (const { path, isa } of objects) assert.equal(await foreignSymbols(path, isa), [], path);
});

for (const cpu of cpus) {
  test.needs(noEmulation, `kernels are the bits of scalar on ${cpu}`, async () => {
    const result = await runProgram(buildFolder, 'spiked_native_test', [], { launcher: launcher(cpu) });
    assert.is(result.failed, 0, result.output);
  });

  test.needs(noEmulation, `the engine holds its contract on ${cpu}`, async () => {
    for (const weights of tinyWeights) {
      const args = [tinyModelFile(weights)];
      const result = await runProgram(buildFolder, 'spiked_engine_smoke', args, { launcher: launcher(cpu) });
      assert.is(result.failed, 0, result.output);
    }
  });
}

test.run();
