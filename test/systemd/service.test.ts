/** `spikectl service` on the files of another root, with a real package in it. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { failure, json, output, spikectl } from '../ctl/helpers/spikectl.js';
import { pack, unpack } from '../package/helpers.js';
import { assert, root, run, suite, tempDir } from '../tools/suite.js';

const test = suite('spikectl service');
const base = join(tempDir(), 'root');
const etc = join(base, 'etc');
const service = join(etc, 'systemd/system/spiked.service');
const config = join(etc, 'spiked/config.json');
let prefix = '';
let flags: string[] = [];

interface Step {
  path: string;
  action: string;
}

test.before(async () => {
  mkdirSync(join(base, 'opt'), { recursive: true });
  const folder = await unpack((await pack(`linux-${process.arch}`, 'build')).archive, join(base, 'opt'));
  prefix = folder.slice(base.length);
  flags = ['--root', base, '--prefix', prefix, '--node', '/usr/bin/node'];
});

async function actions(command: string, ...more: string[]): Promise<Record<string, string>> {
  const args = command === 'install' ? flags : ['--root', base];
  const { files } = (await json(['service', command, ...args, ...more])) as { files: Step[] };
  return Object.fromEntries(files.map(({ path, action }) => [path, action]));
}

/** Every file and folder of the root but the package. */
function tree(folder = base): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (path === join(base, 'opt')) return [];
    return [path, ...(entry.isDirectory() ? tree(path) : [])];
  });
}

test('--dry-run changes nothing and says what it would do', async () => {
  const text = await output(['service', 'install', ...flags, '--dry-run']);
  assert.match(text, /^would write +\/etc\/systemd\/system\/spiked\.service$/m);
  assert.equal(tree(), []);
});

test('install writes units that name the package and Node, and uninstall leaves nothing', async () => {
  const text = await output(['service', 'install', ...flags]);
  assert.match(text, /^wrote +\/etc\/spiked\/config\.json$/m);
  assert.match(text, /^to run there +systemctl enable --now spiked\.socket$/m);
  assert.ok(readFileSync(service, 'utf8').includes(`ExecStart=/usr/bin/node ${prefix}/dist/daemon/main.js `));
  assert.match(
    await output(['service', 'uninstall', '--root', base]),
    /^removed +\/etc\/spiked\/config\.json$/m,
  );
  assert.equal(tree(), []);
});

test('a changed file outlives the next installation and uninstall; --force overwrites it', async () => {
  await output(['service', 'install', ...flags]);
  appendFileSync(config, ' \n');
  rmSync(service);
  writeFileSync(join(base, 'var/lib/spiked/models/mine.gguf'), '');
  const again = await actions('install');
  assert.is(again['/etc/spiked/config.json'], 'keep');
  assert.is(again['/etc/spiked/config.json.new'], undefined, 'the one that was changed is the newest');
  assert.is(again['/etc/systemd/system/spiked.service'], 'write');
  assert.is(again['/etc/systemd/system/spiked.socket'], 'same');
  assert.is((await actions('install', '--force'))['/etc/spiked/config.json'], 'replace');
  appendFileSync(config, ' \n');
  assert.is((await actions('uninstall'))['/etc/spiked/config.json'], 'keep');
  const left = tree().filter((path) => /\.\w+$/.test(path));
  assert.equal(left, [config, join(base, 'var/lib/spiked/models/mine.gguf')]);
  rmSync(etc, { recursive: true });
  rmSync(join(base, 'var'), { recursive: true });
});

test("somebody else's unit is neither overwritten nor removed", async () => {
  mkdirSync(join(etc, 'systemd/system'), { recursive: true });
  writeFileSync(service, '[Service]\nExecStart=/bin/true\n');
  const found = await actions('install');
  assert.is(found['/etc/systemd/system/spiked.service'], 'keep');
  assert.is(found['/etc/systemd/system/spiked.service.new'], 'write');
  assert.is((await actions('uninstall'))['/etc/systemd/system/spiked.service'], undefined);
  assert.match(readFileSync(service, 'utf8'), /bin\/true/);
  rmSync(etc, { recursive: true });
});

test('where this version has another file than the one that was changed, it comes beside, and that is told', async () => {
  await output(['service', 'install', ...flags]);
  appendFileSync(config, ' \n');
  writeFileSync(service, '[Service]\nExecStart=/bin/true\n');
  // As if that had been of an older version.
  const record = join(base, 'var/lib/spiked/installed.json');
  const old = JSON.parse(readFileSync(record, 'utf8')) as { files: Record<string, string> };
  old.files['/etc/spiked/config.json'] = '0'.repeat(64);
  writeFileSync(record, JSON.stringify(old));
  const { code, stdout, stderr } = await spikectl(['service', 'install', ...flags]);
  assert.is(code, 0);
  assert.match(stdout, /^kept +\/etc\/spiked\/config\.json +\(not as service install wrote it\)$/m);
  assert.match(stdout, /^wrote +\/etc\/spiked\/config\.json\.new$/m);
  assert.match(stderr, /^spikectl: kept .*: \/etc\/spiked\/config\.json\.new: compare, .*--force\n$/);
  assert.ok(`${readFileSync(`${config}.new`, 'utf8')} \n` === readFileSync(config, 'utf8'));
  assert.is((await actions('install'))['/etc/spiked/config.json.new'], 'same', 'until somebody decides');
  const forced = await actions('install', '--force');
  assert.is(forced['/etc/spiked/config.json'], 'replace');
  assert.is(forced['/etc/spiked/config.json.new'], 'remove');
  await output(['service', 'uninstall', '--root', base]);
  assert.equal(tree(), []);
});

test('status says what is installed and what was changed, exit status 4', async () => {
  await output(['service', 'install', ...flags]);
  appendFileSync(config, ' \n');
  const { code, stdout } = await spikectl(['service', 'status', '--root', base]);
  assert.is(code, 4);
  assert.match(
    stdout,
    new RegExp(`^installed +version \\d+\\.\\d+\\.\\d+ in ${prefix}, run by /usr/bin/node$`, 'm'),
  );
  assert.match(stdout, /^changed +\/etc\/spiked\/config\.json$/m);
  await output(['service', 'uninstall', '--root', base]);
  const empty = await spikectl(['service', 'status', '--root', base, '--json']);
  assert.is((JSON.parse(empty.stdout) as { installed: unknown }).installed, null);
  rmSync(etc, { recursive: true });
});

test('a checkout, a damaged package and a path that no unit can name are refused', async () => {
  const install = (...args: string[]) => ['service', 'install', ...args, '--root'];
  assert.match(await failure([...install('--prefix', root), '/'], 3, 'ERR_CHECK_FAILED'), /found a checkout/);
  const odd = await failure([...install('--prefix', '/opt/a b'), base], 1, 'ERR_INVALID_ARGUMENT');
  assert.match(odd, /"\/opt\/a b"/);
  const copy = join(base, 'opt/damaged');
  assert.is((await run('cp', ['-a', join(base, prefix), copy])).code, 0);
  appendFileSync(join(copy, 'dist/daemon/main.js'), '//');
  const damaged = await failure([...install('--prefix', '/opt/damaged'), base], 3, 'ERR_CHECK_FAILED');
  assert.match(damaged, /main\.js: expected SHA-256/);
  assert.is(existsSync(service), false);
});

test('a place that the hardened service cannot see is refused', async () => {
  const hidden = await failure(
    ['service', 'install', '--dry-run', '--prefix', base],
    1,
    'ERR_INVALID_ARGUMENT',
  );
  assert.match(hidden, /expected a path that a system service sees/);
});

test('uninstall does without what is gone', async () => {
  await output(['service', 'install', ...flags]);
  rmSync(service);
  const text = await output(['service', 'uninstall', '--root', base]);
  assert.match(text, /^was gone +\/etc\/systemd\/system\/spiked\.service$/m);
  assert.match(text, /systemctl disable --now spiked\.socket$/m);
  assert.equal(tree(), []);
});

test('uninstall without an installation says so', async () => {
  await failure(['service', 'uninstall', '--root', tempDir()], 1, 'ERR_FILE_NOT_FOUND');
});

test('--user keeps to the folders of the user', async () => {
  const home = tempDir();
  const env = { HOME: home, XDG_CONFIG_HOME: undefined, XDG_DATA_HOME: undefined, XDG_RUNTIME_DIR: home };
  const args = ['service', 'install', '--user', '--prefix', join(base, prefix)];
  const text = await output(args, { env });
  assert.ok(text.includes(join(home, '.config/systemd/user/spiked.socket')), text);
  assert.match(
    readFileSync(join(home, '.config/spiked/config.json'), 'utf8'),
    /\.local\/share\/spiked\/models/,
  );
  await output(['service', 'uninstall', '--user'], { env });
  assert.equal(readdirSync(home), []);
});

test.run();
