/** For which memory the engine asks for huge pages. Whether it gets them is the kernel's and the file system's to decide. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { addon } from '../../native/host/index.js';
import type { Loading } from '../../native/host/index.js';
import { assert, suite } from '../tools/suite.js';
import { greedy, ids, modelFile } from './runs.js';

const test = suite('huge pages');
const none = existsSync('/sys/kernel/mm/transparent_hugepage/enabled')
  ? undefined
  : 'no transparent huge pages in this kernel';
/** Areas begin and end somewhere within a page. */
const slack = 3 * 65_536;

/** Bytes of this process's mappings that huge pages were asked for (madvise). */
function askedBytes(): number {
  const areas = readFileSync('/proc/self/smaps', 'utf8').split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/);
  return areas
    .filter((area) => /^VmFlags:.* hg\b/m.test(area))
    .reduce((sum, area) => sum + 1024 * Number(/^Size: +(\d+) kB$/m.exec(area)?.[1]), 0);
}

// First: later ones may be given memory that was asked for before.
test.needs(none, "the table of a head's first pass", async () => {
  const shape = { vocab: 65_536, dim: 64 };
  const engine = addon().openEngine({ threads: 1 });
  const model = await engine.openModel(modelFile(shape));
  const session = model.openSession();
  const before = askedBytes();
  await session.step(ids(5), greedy, { head: { mode: 'certified' } });
  const table = (shape.vocab * shape.dim) / 2;
  assert.ok(askedBytes() - before > table - slack, `${String(askedBytes() - before)} of ${table} bytes`);
  session.close();
  model.close();
  engine.close();
});

for (const loading of ['readahead', 'prefault', 'huge_pages'] satisfies Loading[])
  test.needs(none, `a model's file: ${loading}`, async () => {
    const path = modelFile({ vocab: 65_536, dim: 64 });
    const engine = addon().openEngine({ threads: 1, loading });
    const before = askedBytes();
    const model = await engine.openModel(path);
    const [found, size] = [askedBytes() - before, statSync(path).size];
    assert.ok(found > size - slack, `${String(found)} of ${String(size)} bytes`);
    model.close();
    assert.ok(askedBytes() - before < slack, 'it is given back');
    engine.close();
  });

test.run();
