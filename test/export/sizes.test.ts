import { synthConfigs } from '../../client/ctl/synth/configs.js';
import { tensorSizeBytes, aligned } from '../../export/gguf-header.js';
import { storedTensor } from '../../export/symboliclight/stored-tensor.js';
import type { StoragePlan } from '../../export/symboliclight/storage-plan.js';
import { expectedTensors } from '../../export/symboliclight/tensors.js';
import { assert, suite } from '../tools/suite.js';

const test = suite('sizes of model files');

/** Bytes of the data section of the 0.8B shape, without a file of that size. */
function dataBytes(plan: StoragePlan): number {
  return expectedTensors(synthConfigs['0.8b'])
    .flatMap((tensor) => {
      const source = { name: tensor.name, dtype: 'f32' as const, shape: tensor.shape, readRows: () => Promise.reject(new Error('no data')) }; // prettier-ignore
      const stored = storedTensor({ ...tensor, source }, plan);
      return stored === undefined ? [] : [stored.data, ...(stored.scale === undefined ? [] : [stored.scale])];
    })
    .reduce((sum, tensor) => sum + aligned(tensorSizeBytes(tensor)), 0);
}

test('0.8B: int4mix has at most 0.826 of the bytes of int8', () => {
  const int8 = dataBytes({ weights: 'int8', layoutPlan: 'mixed' });
  const int4mix = dataBytes({ weights: 'int4mix', layoutPlan: 'mixed' });
  const ratio = int4mix / int8;
  process.stdout.write(`int4mix ${int4mix} bytes, int8 ${int8} bytes, ratio ${ratio.toFixed(4)}\n`);
  assert.ok(ratio <= 0.826 && ratio > 0.79, String(ratio));
  // docs/model-file.md names it.
  assert.is(ratio.toFixed(2), '0.80');
});

test('0.8B: the layout plans differ by padding only', () => {
  const [mixed = 0, ...others] = (['mixed', 'row', 'column'] as const).map((layoutPlan) =>
    dataBytes({ weights: 'f32', layoutPlan }),
  );
  for (const other of others) assert.ok(Math.abs(other / mixed - 1) < 1e-3);
});

test.run();
