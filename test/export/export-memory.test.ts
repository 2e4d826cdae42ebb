import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { exportModel } from '../../export/export.js';
import { assert, root, suite } from '../tools/suite.js';
import { checkContainer, readModelFile } from './helpers/model-file.js';
import { largestStorageKib, writeLargeModel } from './helpers/large-model.js';
import { scratchFolder } from './helpers/torch-file.js';

const folder = scratchFolder();
const test = suite('memory of an export');
test.after(() => folder.remove());

const child = join(root, 'dist/test/export/helpers/export-child.js');
const out = folder.path('model.gguf');

/** Exports in a process of its own, which may grow by `most` times the largest storage. */
function requireGrowth(checkpoint: string, to: string, weights: string, most: number): void {
  const { stdout, stderr, status } = spawnSync(process.execPath, [child, checkpoint, to, weights], {
    encoding: 'utf8',
  });
  assert.is(status, 0, stderr);
  const kib = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(stdout)?.[1]);
  const growthKib = kib('peak') - kib('baseline');
  process.stdout.write(
    `grew by ${(growthKib / 1024).toFixed(0)} MiB, largest storage ${(largestStorageKib / 1024).toFixed(0)} MiB\n`,
  );
  assert.ok(growthKib > 0 && growthKib <= most * largestStorageKib, stdout);
}

const isLong = process.env['SPIKED_TEST_LONG'] === '1';

for (const deflate of [false, true])
  for (const weights of isLong
    ? (['f32', 'int8'] as const)
    : deflate
      ? (['f32'] as const)
      : (['int8'] as const))
    test(`${deflate ? 'deflated' : 'stored'}, ${weights}: at most ${deflate ? 'four times' : 'once'} the largest storage`, async () => {
      const checkpoint = folder.path('model.pt');
      writeLargeModel(checkpoint, deflate);
      if (!deflate) assert.ok(statSync(checkpoint).size > 200e6);
      requireGrowth(checkpoint, out, weights, deflate ? 4 : 1);
      checkContainer(await readModelFile(out));
    });

test('a model file as checkpoint: at most the largest storage of the f32 checkpoint', async () => {
  // int8 to int4mix: read in panels and as whole columns, quantised and copied.
  const checkpoint = folder.path('model.pt');
  const int8 = folder.path('int8.gguf');
  writeLargeModel(checkpoint, false);
  await exportModel({ checkpoint, out: int8, weights: 'int8' });
  requireGrowth(int8, out, isLong ? 'f32' : 'int4mix', 1);
  checkContainer(await readModelFile(out));
});

test.run();
