/** Who may connect. */
import { spawn as spawnProcess, spawnSync } from 'node:child_process';
import { lstatSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { connect, type SpikedError } from '../../client/index.js';
import { assert, missing, suite, tempDir } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { daemonProgram, DaemonProcess, killAll, socketPath } from './helpers/process.js';
import { RawClient } from './helpers/raw-client.js';

const test = suite('socket rules');
const uid = process.getuid?.() ?? 0;
const gid = process.getgid?.() ?? 0;
const notRoot = uid === 0 ? undefined : 'needs root';
const other = 4_242_424;
let model: string;
const running: DaemonProcess[] = [];

function spawn(...args: string[]): DaemonProcess {
  const daemon = DaemonProcess.spawn(['--model', model, ...args]);
  running.push(daemon);
  return daemon;
}

async function start(...args: string[]): Promise<DaemonProcess> {
  const daemon = spawn(...args);
  await daemon.ready();
  return daemon;
}

test.before(async () => {
  model = await goldenModel(smallCase);
});
test.afterEach(() => killAll(running));

test('the mode that was asked for', async () => {
  for (const mode of ['0600', '666', '0660']) {
    const daemon = await start('--socket-mode', mode);
    assert.is(lstatSync(daemon.path).mode & 0o7777, parseInt(mode, 8));
    await (await daemon.client()).close();
    assert.is((await daemon.stop()).code, 0);
  }
});

test('a group by number and by name; one that does not exist is named', async () => {
  const daemon = await start('--socket-group', String(gid));
  assert.is(lstatSync(daemon.path).gid, gid);
  const none = spawn('--socket-group', 'no-such-group');
  assert.is((await none.ended).code, 78);
  assert.match(none.stderr, /--socket-group: expected a group of this system, found "no-such-group"/);
});

test.needs(notRoot, 'a group that is not its own', async () => {
  const daemon = await start('--socket-group', 'nogroup', '--socket-mode', '0620');
  const { gid: group, mode } = lstatSync(daemon.path);
  assert.equal([group, mode & 0o7777], [65_534, 0o620]);
});

test.needs(
  uid === 0 ? missing('setpriv') : undefined,
  'a group that its user is not in is refused by name, status 78, and nothing is left behind',
  async () => {
    const path = socketPath();
    const command = [daemonProgram, '--socket', path, '--threads', '1', '--no-self-test', '--model', model];
    // Root without the right to give files away is an ordinary user in this.
    const [program = '', ...before] =
      uid === 0 ? ['setpriv', '--bounding-set', '-chown', process.execPath] : [process.execPath];
    const args = [...before, ...command, '--socket-group', String(other)];
    const daemon = new DaemonProcess(
      spawnProcess(program, args, { stdio: ['ignore', 'pipe', 'pipe'] }),
      path,
    );
    running.push(daemon);
    assert.is((await daemon.ended).code, 78, daemon.stderr);
    const said = daemon.stderr.split('\n').filter((line) => line.startsWith('spiked: '));
    assert.is(said.length, 1);
    assert.match(
      said[0] ?? '',
      /^spiked: ERR_CONFIG_INVALID: --socket-group: expected a group that uid \d+ is in, found 4242424 \(EPERM\)/,
    );
    const own = (name: string): boolean => name === basename(path) || name.endsWith('.spiked');
    assert.equal(readdirSync(dirname(path)).filter(own), []);
  },
);

test('whom the lists do not name hears why, once, and is logged; nothing of what it asked is done', async () => {
  const daemon = await start('--allow-uid', String(other), '--allow-gid', String(other));
  const raw = await RawClient.connect(daemon.path);
  raw.send(0, 1, 'server.info', []);
  await raw.gone();
  assert.equal(raw.messages.length, 1);
  const [closing] = raw.events('server.closing');
  assert.match(
    (closing?.['error'] as [number, string])[1],
    new RegExp(`^ERR_PEER_FORBIDDEN: .*found uid ${String(uid)}$`),
  );
  const error: unknown = await connect({ path: daemon.path })
    .then((client) => client.serverInfo())
    .catch((thrown: unknown) => thrown);
  assert.is((error as SpikedError).code, 'ERR_PEER_FORBIDDEN');
  const line = `"uid":${String(uid)},"gid":${String(gid)},"pid":${String(process.pid)},"msg":"refusing a peer"`;
  assert.ok(daemon.stderr.includes(line), daemon.stderr);
});

test('either list lets in whom it names', async () => {
  for (const args of [
    ['--allow-uid', String(other), '--allow-uid', String(uid)],
    ['--allow-uid', String(other), '--allow-gid', String(gid)],
  ]) {
    const client = await (await start(...args)).client();
    assert.ok(await client.serverInfo());
    await client.close();
  }
});

const client = `
import os, socket, sys
os.setgroups([int(sys.argv[2])]); os.setgid(65534); os.setuid(65534)
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
s.sendall(b"\\x94\\x00\\x01\\xabserver.info\\x90")
sys.exit(0 if s.recv(2) == b"\\x94\\x01" else 3)
`;

test.needs(notRoot ?? missing('python3'), 'a supplementary group counts', async () => {
  const path = socketPath();
  const daemon = DaemonProcess.spawn(
    ['--model', model, '--socket-mode', '0666', '--allow-gid', String(other)],
    path,
  );
  running.push(daemon);
  await daemon.ready();
  const ask = (group: number): number | null =>
    spawnSync('python3', ['-c', client, path, String(group)], { stdio: 'inherit' }).status;
  // The folder is its owner's alone.
  spawnSync('chmod', ['711', dirname(path)]);
  assert.is(ask(other), 0);
  assert.is(ask(other + 1), 3);
});

test.needs(
  missing('python3'),
  'what daemons that were killed while they opened their socket left is swept away, and nothing else',
  async () => {
    const folder = tempDir();
    const path = join(folder, 'own.sock');
    const left = ['.0123456789ab.spiked', '.ba9876543210.stale'];
    const others = ['.0123456789ab.sock', '.0123.spiked'];
    const bind = 'import socket, sys\nfor path in sys.argv[1:]: socket.socket(socket.AF_UNIX).bind(path)';
    const made = spawnSync('python3', [
      '-c',
      bind,
      ...[...left, ...others].map((name) => `${folder}/${name}`),
    ]);
    assert.is(made.status, 0, made.stderr.toString());
    writeFileSync(`${folder}/.aaaaaaaaaaaa.spiked`, 'a file of somebody');
    const daemon = DaemonProcess.spawn(['--model', model], path);
    running.push(daemon);
    await daemon.ready();
    assert.equal(readdirSync(folder).sort(), [...others, '.aaaaaaaaaaaa.spiked', basename(path)].sort());
  },
);

test.run();
