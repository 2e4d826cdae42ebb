/** What becomes of the daemon when its log cannot be written: a reader that stands still, goes away, a full disk. */
import { spawn, type ChildProcess } from 'node:child_process';
import { constants, openSync } from 'node:fs';
import { once } from 'node:events';
import { addon } from '../../native/host/index.js';
import { LogWriter } from '../../daemon/log-writer.js';
import { assert, suite } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { DaemonProcess, daemonProgram, socketPath } from './helpers/process.js';
import { RawClient } from './helpers/raw-client.js';

const test = suite('log faults');
let model: string;
const running: DaemonProcess[] = [];

test.afterEach(() => {
  for (const daemon of running.splice(0)) daemon.child.kill('SIGKILL');
});
test.before(async () => {
  model = await goldenModel(smallCase);
});

/** Makes the daemon write some 350 bytes of log a round. */
async function busy(daemon: DaemonProcess, rounds: number): Promise<void> {
  for (let i = 0; i < rounds; i++) {
    const raw = await RawClient.connect(daemon.path);
    raw.send(0, 1, 'tokens.encode', [{ text: 'x' }]);
    await raw.error(1);
    raw.write([0xc1]);
    await raw.gone();
    raw.close();
  }
}

const fdOf = ({ stdin }: ChildProcess): number =>
  (stdin as unknown as { _handle: { fd: number } })._handle.fd;

test('a log whose reader stands still holds up neither answers nor the end, and tells what was lost', async () => {
  const daemon = await DaemonProcess.start(['--model', model, '--log-level', 'debug']);
  running.push(daemon);
  daemon.child.stderr?.pause();
  // What the daemon holds, and what pipe and reader take before they stand still.
  await busy(daemon, Math.ceil((1.4 * 2 ** 20) / 350));
  daemon.child.stderr?.resume();
  const raw = await RawClient.connect(daemon.path);
  await raw.until('the count of lost lines', () =>
    /"lines":[1-9]\d*,"msg":"lines of the log were lost/.test(daemon.stderr),
  );
  raw.close();
  for (const text of daemon.stderr.trimEnd().split('\n')) JSON.parse(text);
  daemon.child.stderr?.pause();
  await busy(daemon, 1000);
  daemon.child.kill('SIGTERM');
  const [code] = (await once(daemon.child, 'exit')) as [number | null];
  assert.is(code, 0);
  daemon.child.stderr?.resume();
  await daemon.ended;
});

test('a full disk under the log stops nothing, and no exit code changes for it', async () => {
  const full = openSync('/dev/full', constants.O_WRONLY);
  const end = async (args: string[], path: string, serve: boolean): Promise<number | null> => {
    const child = spawn(process.execPath, [daemonProgram, '--socket', path, '--threads', '1', ...args], {
      stdio: ['ignore', 'pipe', full],
    });
    const ended = once(child, 'exit') as Promise<[number | null]>;
    if (serve) {
      await once(child.stdout ?? child, 'data');
      const raw = await RawClient.connect(path);
      raw.write([0xc1]);
      await raw.gone();
      raw.close();
      child.kill('SIGTERM');
    }
    return (await ended)[0];
  };
  assert.is(await end(['--model', model], socketPath(), true), 0);
  assert.is(await end(['--model', '/no/such.gguf'], socketPath(), false), 3);
  assert.is(await end(['--nonsense'], socketPath(), false), 2);
});

test('lines go on where the room ended, in order and whole, whatever the size of the pieces', async () => {
  const child = spawn('cat', { stdio: ['pipe', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  let room = 0;
  const writer = new LogWriter(
    fdOf(child),
    (fd) => room-- > 0 && addon().writable(fd, 1000),
    () => undefined,
  );
  const lines = Array.from({ length: 40 }, (_, i) => `${String(i)} ${'x'.repeat(i * 400)}\n`);
  for (const [i, line] of lines.entries()) {
    room = i % 3 === 0 ? 2 : 0;
    writer.write(line);
  }
  room = Infinity;
  writer.flush();
  const whole = lines.join('');
  while (text.length < whole.length) await new Promise((resolve) => setTimeout(resolve, 10));
  child.stdin.end();
  await once(child, 'close');
  assert.ok(text === whole);
});

test('a pipe with room is told from one without', async () => {
  const child = spawn('sleep', ['60'], { stdio: ['pipe', 'ignore', 'ignore'] });
  child.stdin.on('error', () => undefined);
  assert.is(addon().writable(fdOf(child), 0), true);
  child.stdin.write(Buffer.alloc(1 << 20));
  assert.is(addon().writable(fdOf(child), 1), false);
  child.kill('SIGKILL');
  await once(child, 'close');
});

test.run();
