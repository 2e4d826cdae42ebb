/** A socket that listens already when the daemon starts, as systemd hands it over. */
import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { connect } from '../../client/index.js';
import { assert, missing, suite } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { daemonProgram, DaemonProcess, socketPath } from './helpers/process.js';
import { RawClient } from './helpers/raw-client.js';

const test = suite('socket activation');
const noTool = missing('systemd-socket-activate');
let model: string;
const running: ChildProcess[] = [];

/** Listens with `options`, and becomes the daemon when the first client comes. */
async function activate(options: string[], path: string): Promise<DaemonProcess> {
  const daemon = [process.execPath, daemonProgram, '--threads', '1', '--no-self-test', '--model', model];
  // Were it looked at, it would be refused.
  daemon.push('--socket', '/no/such/folder/s', '--socket-mode', '0600');
  const child = spawn('systemd-socket-activate', [...options, ...daemon], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1' },
  });
  running.push(child);
  const started = new DaemonProcess(child, path);
  while (!started.stderr.includes('Listening on')) await new Promise((resolve) => setTimeout(resolve, 10));
  return started;
}

test.before(async () => {
  model = await goldenModel(smallCase);
});
test.afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
});

test.needs(noTool, 'the first client is served, and the path is left as it was', async () => {
  const path = socketPath();
  const daemon = await activate(['-l', path], path);
  chmodSync(path, 0o755);
  const before = lstatSync(path);
  const client = await connect({ path });
  assert.is((await client.generate({ tokens: [1], max_tokens: 2 }).result).generated_tokens, 2);
  assert.is((await client.serverInfo()).pid, daemon.pid);
  assert.match(daemon.stdout, new RegExp(`^spiked: ready at ${path}, pid ${String(daemon.pid)}\\n$`));
  // Without close-on-exec every child would keep the socket.
  assert.match(readlinkSync(`/proc/${String(daemon.pid)}/fd/3`), /^socket:/);
  const flags = /^flags:\s+0(\d+)$/m.exec(readFileSync(`/proc/${String(daemon.pid)}/fdinfo/3`, 'utf8'))?.[1];
  assert.ok(parseInt(flags ?? '', 8) & 0o2000000, `flags ${String(flags)}`);
  await client.close();
  assert.is((await daemon.stop()).code, 0);
  const after = lstatSync(path);
  assert.equal([after.ino, after.mode, after.mtimeMs], [before.ino, before.mode, before.mtimeMs]);
});

test.needs(noTool, 'other than one listening stream socket is a mistake of the configuration', async () => {
  const cases: [options: (path: string) => string[], text: RegExp][] = [
    [(path) => ['-l', path, '-l', socketPath()], /LISTEN_FDS: expected one socket to serve, found 2/],
    [
      (path) => ['--seqpacket', '-l', path],
      /fd 3: expected a listening Unix stream socket, found something else/,
    ],
  ];
  for (const [options, text] of cases) {
    const path = socketPath();
    const daemon = await activate(options(path), path);
    const raw = await RawClient.connect(path).catch(() => undefined);
    if (!raw) {
      // Node connects stream sockets only.
      const wake =
        'import socket,sys; s=socket.socket(socket.AF_UNIX,socket.SOCK_SEQPACKET); s.connect(sys.argv[1])';
      spawn('python3', ['-c', wake, path]);
    }
    assert.equal(await daemon.ended, { code: 78, signal: null }, daemon.stderr);
    assert.match(daemon.stderr, text);
    raw?.close();
  }
});

test.run();
