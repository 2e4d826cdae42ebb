/** The files as they are installed, held to systemd's own checks and to what the daemon says of itself. */
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { places, type Scope } from '../../client/ctl/service/places.js';
import { serviceFiles, type ServiceFile } from '../../client/ctl/service/plan.js';
import { defaultSocketPath } from '../../client/protocol/index.js';
import { readConfig } from '../../daemon/config.js';
import { exitCodes } from '../../daemon/exit-codes.js';
import { assert, missing, root, run, suite, tempDir } from '../tools/suite.js';

const test = suite('systemd units');
const noAnalyze = missing('systemd-analyze');
const exposureLimit = 1.2;

function rendered(scope: Scope): Promise<ServiceFile[]> {
  return serviceFiles(places(scope, {}), { folder: root, node: process.execPath, manifest: undefined });
}

function textOf(files: readonly ServiceFile[], end: string): string {
  return files.find(({ path }) => path.endsWith(end))?.text ?? '';
}

/** A root folder that holds the files, and the folder of its units. */
function written(files: readonly ServiceFile[]): { base: string; units: string } {
  const base = tempDir();
  for (const { path, text } of files) {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  }
  return {
    base,
    units: dirname(join(base, files.find(({ path }) => path.endsWith('.service'))?.path ?? '')),
  };
}

/** What systemd-analyze finds to say; its exit status is 0 for keys that it does not know. */
async function verify(scope: Scope, units: string): Promise<string> {
  const args = [`--${scope}`, 'verify', './spiked.service', './spiked.socket'];
  const { stdout, stderr } = await run('systemd-analyze', args, {
    cwd: units,
    env: { XDG_RUNTIME_DIR: units },
  });
  return stdout + stderr;
}

function setting(unit: string, key: string): string[] {
  return [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value ?? '');
}

for (const scope of ['system', 'user'] as const) {
  test.needs(
    noAnalyze,
    `systemd-analyze verify has nothing to say of the units of the ${scope}`,
    async () => {
      assert.is(await verify(scope, written(await rendered(scope)).units), '');
    },
  );

  test(`nothing is left to fill in in the files of the ${scope}`, async () => {
    for (const { path, text } of await rendered(scope)) assert.not.match(text, /@[A-Z]+@/, path);
  });
}

test.needs(noAnalyze, 'a planted unknown key is reported', async () => {
  const files = (await rendered('system')).map(({ path, text }) => ({
    path,
    text: text.replace('[Service]\n', '[Service]\nRestartAlways=yes\n'),
  }));
  assert.match(await verify('system', written(files).units), /Unknown key .*RestartAlways/);
});

test.needs(noAnalyze, `exposure is at most ${exposureLimit}`, async () => {
  const args = ['security', '--offline=yes', '--no-pager', './spiked.service'];
  const { units } = written(await rendered('system'));
  const { stdout, stderr } = await run('systemd-analyze', args, { cwd: units });
  const found = /Overall exposure level for spiked\.service: ([\d.]+)/.exec(stdout)?.[1];
  assert.ok(Number(found ?? NaN) <= exposureLimit, found ?? stderr);
});

test.needs(
  missing('systemd-sysusers', 'systemd-tmpfiles'),
  'the user of the unit and the folders of the socket and the models are made',
  async () => {
    const files = await rendered('system');
    const { base } = written(files);
    const users = await run('systemd-sysusers', [`--root=${base}`, '--dry-run', 'spiked.conf']);
    const [user = ''] = setting(textOf(files, 'spiked.service'), 'User');
    assert.match(users.stdout + users.stderr, new RegExp(`user '${user}'`));
    const folders = await run('systemd-tmpfiles', [`--root=${base}`, '--create', 'spiked.conf']);
    assert.is(folders.code, 0, folders.stderr);
    for (const folder of ['run/spiked', 'var/lib/spiked/models'])
      assert.is(statSync(join(base, folder)).isDirectory(), true);
  },
);

test('units and daemon agree', async () => {
  const [system, user] = [await rendered('system'), await rendered('user')];
  const service = textOf(system, 'spiked.service');
  const final = [exitCodes.usage, exitCodes.selfTest, exitCodes.config];
  assert.equal(setting(service, 'RestartPreventExitStatus'), [final.join(' ')]);
  assert.equal(setting(textOf(system, 'spiked.socket'), 'ListenStream'), [defaultSocketPath({})]);
  const runtime = defaultSocketPath({ XDG_RUNTIME_DIR: '%t' });
  assert.equal(setting(textOf(user, 'spiked.socket'), 'ListenStream'), [runtime]);
  const { drainMs } = readConfig({ models: ['x.gguf'] });
  assert.ok(Number(setting(service, 'TimeoutStopSec')[0]) * 1000 >= 2 * drainMs);
});

test.run();
