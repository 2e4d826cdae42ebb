/** The native build: what is missing is named with its fix, in one line; loading says how to build. */
import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, root, run, suite, tempDir, which } from '../tools/suite.js';

const test = suite('native build');
const scratch = tempDir();
let folders = 0;
const build = join(root, 'dist/native/host/build.js');

const always: Record<string, string | undefined> = { node: undefined, git: undefined };

/** A folder with these programs: real ones by name, or scripts. */
function programs(scripts: Record<string, string | undefined>): string {
  const folder = join(scratch, String(folders++));
  mkdirSync(folder);
  for (const [name, script] of Object.entries({ ...always, ...scripts })) {
    const path = join(folder, name);
    const real = which(name);
    if (script !== undefined) {
      writeFileSync(path, `#!/bin/sh\n${script}\n`);
      chmodSync(path, 0o755);
    } else if (real !== undefined) symlinkSync(real, path);
  }
  return folder;
}

async function refused(
  scripts: Record<string, string | undefined>,
  env: Record<string, string> = {},
): Promise<string> {
  const result = await run(process.execPath, [build, '--out', join(scratch, 'out')], {
    env: { PATH: programs(scripts), CXX: undefined, ...env },
    timeoutMs: 60_000,
  });
  assert.is(result.code, 1, result.stderr);
  assert.is(result.stdout, '');
  assert.is(result.stderr.split('\n').length, 2, `expected one line, found: ${result.stderr}`);
  assert.match(result.stderr, /^spiked build: ERR_TOOL_MISSING: /);
  return result.stderr;
}

const good = { cmake: undefined, 'g++': undefined, cc1plus: undefined, as: undefined, make: undefined };

test('no tools at all: every one is named, with one command', async () => {
  const line = await refused({});
  assert.match(line, /cmake: expected 3\.22 or newer, found none/);
  assert.match(line, /g\+\+: expected a C\+\+20 compiler .* found no such program/);
  assert.match(line, /make: expected make or ninja, found neither/);
  assert.match(line, /apt-get install cmake g\+\+ make$/m);
});

test('an old cmake', async () => {
  const line = await refused({ ...good, cmake: 'echo "cmake version 3.18.4"' });
  assert.match(line, /: cmake: expected 3\.22 or newer, found 3\.18\.4\. On Debian: apt-get install cmake$/m);
});

test('an old compiler', async () => {
  const macros = `while read -r _; do :; done; echo '#define __GNUC__ 10'; echo '#define __VERSION__ "10.2.1 20210110"'`;
  const line = await refused({ ...good, 'g++': macros });
  assert.match(
    line,
    /g\+\+: expected .*, found gcc 10 \(10\.2\.1 20210110\)\. On Debian: apt-get install g\+\+$/m,
  );
});

test('a compiler that knows no C++20', async () => {
  const line = await refused({ ...good, 'g++': '[ "$1" = --version ]' });
  assert.match(line, /found one that knows no C\+\+20/);
});

test('CXX names a compiler that is not there', async () => {
  const line = await refused(good, { CXX: 'g++-99' });
  assert.match(line, /: g\+\+-99: expected a C\+\+20 compiler .* found no such program/);
});

test('neither make nor ninja', async () => {
  const { make: _, ...rest } = good;
  const line = await refused(rest);
  assert.match(line, /: make: expected make or ninja, found neither\. On Debian: apt-get install make$/m);
});

test('wrong options are refused', async () => {
  for (const args of [['--arch', 'mips'], ['--define', 'x'], ['--no-such-option'], ['stray']]) {
    const result = await run(process.execPath, [build, ...args]);
    assert.is(result.code, 1);
    assert.match(result.stderr, /^spiked build: ERR_USAGE: /);
  }
});

test('what is built is left alone, quickly and silently', async () => {
  const first = await run(process.execPath, [build], { timeoutMs: 200_000 });
  assert.is(first.code, 0, first.stderr);
  const again = await run(process.execPath, [build], { timeoutMs: 60_000 });
  assert.equal([again.code, again.stdout, again.stderr], [0, '', '']);
  assert.ok(again.ms < 15_000, `took ${again.ms} ms`);
});

async function load(path: string | undefined): Promise<string> {
  const program = `import { addon } from ${JSON.stringify(join(root, 'dist/native/host/addon.js'))};
    try { addon(); process.stdout.write('loaded'); } catch (e) { process.stdout.write(e.code + ' ' + e.message); }`;
  const result = await run(process.execPath, ['--input-type=module', '-e', program], {
    env: { SPIKED_ADDON: path },
  });
  assert.is(result.code, 0, result.stderr);
  return result.stdout;
}

test('an addon that is not there, or cannot be loaded, is said so', async () => {
  assert.is(await load(undefined), 'loaded');
  const folder = scratch;
  const copy = join(folder, 'copy.node');
  copyFileSync(join(root, 'build/Release/spiked.node'), copy);
  assert.is(await load(copy), 'loaded');
  assert.is(
    await load(join(folder, 'none.node')),
    `ERR_FILE_NOT_FOUND ${join(folder, 'none.node')}: expected the native addon, found nothing: run npm run build`,
  );
  const broken = join(folder, 'broken.node');
  writeFileSync(broken, 'rubbish');
  assert.match(
    await load(broken),
    /^ERR_FILE_IO .*broken\.node: expected an addon that Node v\S+ can load, found /,
  );
});

test.run();
