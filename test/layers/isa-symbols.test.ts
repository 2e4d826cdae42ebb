import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compiler } from '../tools/compiler.js';
import { assert, missing, root, run, suite, tempDir } from '../tools/suite.js';
import { foreignSymbols, isaObjects } from './isa-symbols.js';

const test = suite('isa symbols');
const noNm = missing('nm');

/** The vector ISAs of this machine; test/arm64 looks at the board's when this machine is another. */
const vectorIsas = process.arch === 'arm64' ? ['neon', 'neon_dotprod'] : ['avx2', 'avx2_vnni'];

for (const isa of vectorIsas) {
  const sources = join(root, 'native/kernels', isa);
  if (!existsSync(sources) || !readdirSync(sources).some((name) => name.endsWith('.cpp'))) continue;
  test.needs(noNm, `${isa} objects export functions of their own namespace only`, async () => {
    const own = isaObjects(join(root, 'build')).filter((object) => object.isa === isa);
    assert.ok(own.length > 0, 'no object file in build/');
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
