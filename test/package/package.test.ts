/** The package for this machine: what is in it, and that it runs with Node alone. */
import { appendFileSync, existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { addon } from '../../native/host/index.js';
import { readManifest, verifyFiles, type Manifest } from '../../package/manifest.js';
import { assert, root, run, suite, tempDir } from '../tools/suite.js';
import { barePath, pack, unpack } from './helpers.js';

const test = suite('package');
const target = `linux-${process.arch}`;
const question = ['run', 'It was a truth that', '--max-tokens', '12', '--seed', '7', '--json'];

let archive = '';
let folder = '';
let manifest: Manifest;

test.before(async () => {
  ({ archive } = await pack(target, 'build'));
  folder = await unpack(archive);
  const found = await readManifest(folder);
  if (found === undefined) throw new Error('no manifest in the package');
  manifest = found;
});

test('the manifest says of the addon what the addon says of itself', () => {
  const { version, commit, compiler } = addon().build();
  assert.is(manifest.version, version);
  assert.is(manifest.commit, commit);
  assert.is(manifest.compiler, compiler.trim());
  assert.is(manifest.target, target);
  const supported = addon()
    .isas()
    .filter((isa) => isa.supported)
    .map(({ name }) => name);
  assert.equal(
    supported.filter((name) => !manifest.isas.includes(name)),
    [],
  );
  assert.is(manifest.isas.at(-1), 'scalar');
});

test('it holds every file of its manifest, and nothing for other machines, of tests or of builds', async () => {
  await verifyFiles(folder, manifest);
  const { stdout } = await run('find', ['.', '-type', 'f', '-printf', '%P\n'], { cwd: folder });
  const found = stdout.trim().split('\n').sort();
  assert.equal(found, [...manifest.files.map(({ path }) => path), 'manifest.json'].sort());
  const alien = /\/(cmake-js|msgpackr-extract)\/|^dist\/(test|bench)\/|^dist\/native\/host\/build/;
  assert.equal(
    found.filter((path) => alien.test(path)),
    [],
  );
  const prebuilt = found.filter((path) => path.includes('/prebuilds/'));
  assert.ok(prebuilt.length > 0);
  assert.ok(prebuilt.every((path) => path.includes(`/prebuilds/${target}/`)));
});

test('a checkout without changes gives the same bytes again', async () => {
  const { archive: again } = await pack(target, 'build');
  assert.ok(readFileSync(archive).equals(readFileSync(again)));
});

test('it generates what the checkout generates, with Node alone and through a link', async () => {
  const nowhere = join(tempDir(), 's');
  const link = join(tempDir(), 'spikectl');
  symlinkSync(join(folder, 'bin/spikectl'), link);
  const env = { SPIKED_SOCKET: nowhere, SPIKED_ADDON: undefined };
  const packaged = await run(link, question, { env: { ...env, PATH: barePath() }, timeoutMs: 120_000 });
  assert.is(packaged.code, 0, packaged.stderr);
  const own = await run(process.execPath, [join(root, 'dist/client/ctl/main.js'), ...question], { env });
  const texts = (lines: string) => lines.split('\n').filter((line) => line.includes('"token"'));
  const ids = (lines: string) => texts(lines).map((line) => (JSON.parse(line) as { token: number }).token);
  assert.is(ids(own.stdout).length, 12, own.stderr);
  assert.equal(ids(packaged.stdout), ids(own.stdout));
});

test('a changed and a missing file are named', async () => {
  const copy = await unpack(archive);
  const refused = async (pattern: RegExp): Promise<void> => {
    try {
      await verifyFiles(copy, manifest);
      assert.unreachable();
    } catch (error) {
      assert.match(String(error), pattern);
    }
  };
  appendFileSync(join(copy, 'docs/cli.md'), '\n');
  await refused(/docs\/cli\.md: expected SHA-256 [0-9a-f]{64}.*found [0-9a-f]{64}/);
  rmSync(join(copy, 'dist'), { recursive: true });
  await refused(/dist\/client\/call\.d\.ts: .*found no such file/);
  assert.is(existsSync(join(copy, 'manifest.json')), true);
});

test('a target that is not known is refused', async () => {
  const program = join(root, 'dist/package/main.js');
  const { code, stderr } = await run(process.execPath, [program, '--target', 'linux-mips']);
  assert.is(code, 2);
  assert.match(stderr, /--target: expected linux-x64 or linux-arm64, found linux-mips/);
});

test.run();
