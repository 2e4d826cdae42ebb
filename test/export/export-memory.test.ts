import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { assert, root, suite } from '../tools/suite.js';
import { checkContainer, readModelFile } from './helpers/model-file.js';
import { largestStorageKib, writeLargeModel } from './helpers/large-model.js';
import { scratchFolder } from './helpers/torch-file.js';

const folder = scratchFolder();
const test = suite('memory of an export');
test.after(() => folder.remove());

const child = join(root, 'dist/test/export/helpers/export-child.js');
const out = folder.path('model.gguf');

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
      const { stdout, stderr, status } = spawnSync(process.execPath, [child, checkpoint, out, weights], {
        encoding: 'utf8',
      });
      assert.is(status, 0, stderr);
      const kib = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(stdout)?.[1]);
      const growthKib = kib('peak') - kib('baseline');
      process.stdout.write(
        `grew by ${(growthKib / 1024).toFixed(0)} MiB, largest storage ${(largestStorageKib / 1024).toFixed(0)} MiB\n`,
      );
      assert.ok(growthKib > 0 && growthKib <= (deflate ? 4 : 1) * largestStorageKib, stdout);
      checkContainer(await readModelFile(out));
    });

test.run();
