import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compiler } from '../tools/compiler.js';
import { assert, missing, root, run, suite, tempDir } from '../tools/suite.js';
import { foreignSymbols, isaObjects } from './isa-symbols.js';

const test = suite('isa symbols');
const noNm = missing('nm');
const builds = readdirSync(root).filter((name) => name.startsWith('build') && !name.includes('san'));
const objects = builds.flatMap((name) => isaObjects(join(root, name)));

const vectorIsas = { x64: ['avx2'], arm64: ['neon', 'neon_dotprod'] }[process.arch as 'x64' | 'arm64'];
for (const isa of ['avx2', 'neon', 'neon_dotprod']) {
  const own = objects.filter((object) => object.isa === isa);
  const folder = join(root, 'native/kernels', isa);
  const inTree = existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.cpp'));
  const built = own.length > 0 || vectorIsas.includes(isa);
  const reason = noNm ?? (built ? undefined : 'not built for this CPU family here');
  if (inTree)
    test.needs(reason, `${isa} objects export functions of their own namespace only`, async () => {
      assert.ok(own.length > 0, 'no object file in any build folder');
      for (const { path } of own) assert.equal(await foreignSymbols(path, isa), [], path);
    });
}

test.needs(noNm, 'a planted shared inline function is reported', async () => {
  const folder = tempDir();
  const source = join(folder, 'planted.cpp');
  writeFileSync(
    source,
    `template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }
     inline __attribute__((noinline)) float half(float x) { return x * 0.5f; }
     namespace spiked::kernels::avx2 { void good(float* x) { *x = twice(half(*x)); } }
     namespace spiked::kernels { void wide(float* x) { *x = 0; } }
     namespace { int hidden(int x) { return x; } }
     int loose(int x) { return hidden(x); }\n`,
  );
  const object = join(folder, 'planted.o');
  const built = await run(compiler(), ['-std=c++20', '-O1', '-c', source, '-o', object]);
  assert.is(built.code, 0, built.stderr);
  const found = (await foreignSymbols(object, 'avx2')).join('\n');
  for (const name of ['twice', 'half', 'wide', 'loose']) assert.match(found, new RegExp(name));
  for (const name of ['good', 'hidden']) assert.not.match(found, new RegExp(name));
});

test.run();
