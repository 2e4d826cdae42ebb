import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import net from 'node:net';
import { dirname, join } from 'node:path';
import { connect, type SpikedError } from '../../client/index.js';
import { addon } from '../../native/host/index.js';
import { assert, suite, tempDir } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { DaemonProcess, killAll, socketPath, type Ended } from './helpers/process.js';
import { RawClient } from './helpers/raw-client.js';

const test = suite('socket');
let model: string;
const running: DaemonProcess[] = [];

function spawn(args: string[] = [], path?: string): DaemonProcess {
  const daemon = DaemonProcess.spawn(['--model', model, ...args], path);
  running.push(daemon);
  return daemon;
}

async function start(args: string[] = [], path?: string): Promise<DaemonProcess> {
  const daemon = spawn(args, path);
  await daemon.ready();
  return daemon;
}

/** Runs a daemon that is expected to refuse to start. */
async function refusal(args: string[], path?: string): Promise<Ended & { stderr: string }> {
  const daemon = DaemonProcess.spawn(args, path);
  running.push(daemon);
  const ended = await daemon.ended;
  return { ...ended, stderr: daemon.stderr };
}

test.before(async () => {
  model = await goldenModel(smallCase);
});
test.afterEach(() => killAll(running));

test('the socket is for owner and group, and goes with the daemon', async () => {
  const daemon = await start();
  assert.is(lstatSync(daemon.path).mode & 0o7777, 0o660);
  assert.match(daemon.stdout, new RegExp(`^spiked: ready at ${daemon.path}, pid ${String(daemon.pid)}\\n$`));
  assert.equal(await daemon.stop(), { code: 0, signal: null });
  assert.not.ok(existsSync(daemon.path));
  assert.equal(
    readdirSync(dirname(daemon.path)).filter((name) => name.startsWith('.')),
    [],
  );
});

test('whoever connects in the first moment is served', async () => {
  const daemon = spawn();
  while (!existsSync(daemon.path)) await new Promise((resolve) => setImmediate(resolve));
  const raw = await RawClient.connect(daemon.path);
  raw.send(0, 1, 'server.info', []);
  assert.is((await raw.result(1))['pid'], daemon.pid);
  raw.close();
});

test('a second daemon on the path is told who owns it; the first is untouched', async () => {
  const first = await start();
  const second = await refusal(['--model', model], first.path);
  assert.is(second.code, 4);
  assert.match(
    second.stderr,
    new RegExp(`ERR_SOCKET_IN_USE: ${first.path}: .*process ${String(first.pid)} `),
  );
  const client = await first.client();
  assert.is((await client.serverInfo()).pid, first.pid);
  await client.close();
});

test('of many that start at once exactly one wins', async () => {
  const path = socketPath();
  const all = Array.from({ length: 5 }, () => spawn([], path));
  const outcomes = await Promise.all(
    all.map((daemon) =>
      Promise.race([
        daemon.ready().then(
          () => 'ready',
          () => 'refused',
        ),
        daemon.ended.then(() => 'refused'),
      ]),
    ),
  );
  assert.is(outcomes.filter((outcome) => outcome === 'ready').length, 1, JSON.stringify(outcomes));
  const winner = all[outcomes.indexOf('ready')];
  const client = await connect({ path });
  assert.is((await client.serverInfo()).pid, winner?.pid);
  await client.close();
});

test('a path left by kill -9 is taken over, also by many at once', async () => {
  const first = await start();
  first.child.kill('SIGKILL');
  await first.ended;
  assert.ok(existsSync(first.path));
  const all = Array.from({ length: 3 }, () => spawn([], first.path));
  const outcomes = await Promise.all(
    all.map((daemon) =>
      Promise.race([
        daemon.ready().then(
          () => true,
          () => false,
        ),
        daemon.ended.then(() => false),
      ]),
    ),
  );
  assert.is(outcomes.filter(Boolean).length, 1);
  const client = await connect({ path: first.path });
  assert.is((await client.serverInfo()).pid, all[outcomes.indexOf(true)]?.pid);
  await client.close();
});

test('whoever changes the folder is waited for', async () => {
  const path = socketPath();
  const folder = await open(dirname(path), 'r');
  assert.ok(addon().tryLock(folder.fd));
  const daemon = spawn([], path);
  while (!daemon.stderr.includes('model loaded')) await new Promise((resolve) => setTimeout(resolve, 10));
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.not.ok(existsSync(path));
  await folder.close();
  await daemon.ready();
  assert.is((await daemon.stop()).code, 0);
});

test('what is no socket is refused and kept', async () => {
  const folder = tempDir();
  const file = join(folder, 'file');
  writeFileSync(file, 'precious');
  const link = join(folder, 'link');
  symlinkSync(file, link);
  for (const path of [file, link, folder]) {
    const { code, stderr } = await refusal(['--model', model], path);
    assert.is(code, 4);
    assert.match(stderr, /ERR_SOCKET_PATH: .*expected nothing or a socket/);
    assert.ok(existsSync(path));
  }
  assert.match(
    (await refusal(['--model', model], join(folder, 'no/such/folder.sock'))).stderr,
    /ERR_SOCKET_PATH/,
  );
});

test('the length of a path: 107 bytes serve, 108 are refused on both sides', async () => {
  const folder = tempDir();
  const fill = (bytes: number): string =>
    join(folder, 'd'.repeat(40), 'x'.repeat(bytes - folder.length - 42));
  mkdirSync(join(folder, 'd'.repeat(40)));
  const longest = fill(107);
  assert.is(Buffer.byteLength(longest), 107);
  await start([], longest);
  const client = await connect({ path: longest });
  await client.close();
  const { code, stderr } = await refusal(['--model', model], fill(108));
  assert.is(code, 4);
  assert.match(stderr, /at most 107 bytes, found 108/);
  const error: unknown = await connect({ path: fill(108) }).catch((thrown: unknown) => thrown);
  assert.is((error as SpikedError).code, 'ERR_SOCKET_PATH');
});

test('a socket that somebody else put at the path meanwhile stays', async () => {
  const daemon = await start();
  unlinkSync(daemon.path);
  const other = net.createServer().listen(daemon.path);
  await new Promise((resolve) => other.once('listening', resolve));
  assert.is((await daemon.stop()).code, 0);
  assert.ok(existsSync(daemon.path));
  await new Promise((resolve) => other.close(resolve));
});

test('SIGTERM and SIGINT end it in order; running work finishes within the drain time', async () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const daemon = await start([
      ...'--max-active 1 --drain-ms 60000 --context 20000 --max-tokens 20000'.split(' '),
    ]);
    const raw = await RawClient.connect(daemon.path);
    raw.send(0, 1, 'text.generate', [{ stream: 1, tokens: [1], max_tokens: 15_000 }]);
    raw.send(0, 2, 'text.generate', [{ stream: 2, tokens: [1], max_tokens: 15_000 }]);
    await raw.until('a token', () => raw.events('text.token').length > 0);
    const ended = daemon.stop(signal);
    assert.is((await raw.result(1))['stop_reason'], 'length', 'the running one finishes');
    assert.is((await raw.result(2))['stop_reason'], 'cancelled', 'the queued one does not begin');
    await raw.gone();
    assert.match((raw.events('server.closing')[0]?.['error'] as string[])[1] ?? '', /^ERR_SHUTTING_DOWN/);
    assert.equal(await ended, { code: 0, signal: null });
  }
});

test('work that outlasts the drain time is cancelled with a last answer; new work is refused', async () => {
  const daemon = await start(['--drain-ms', '700', '--context', '1000000', '--max-tokens', '1000000']);
  const raw = await RawClient.connect(daemon.path);
  raw.send(0, 1, 'text.generate', [{ stream: 1, tokens: [1], max_tokens: 1_000_000 }]);
  await raw.until('a token', () => raw.events('text.token').length > 0);
  const ended = daemon.stop();
  await raw.until('the log', () => daemon.stderr.includes('"stopping"'));
  raw.send(0, 2, 'server.info', []);
  assert.match((await raw.error(2))[1], /^ERR_SHUTTING_DOWN/);
  await raw.until('the end of the path', () => !existsSync(daemon.path));
  const error: unknown = await connect({ path: daemon.path }).catch((thrown: unknown) => thrown);
  assert.is((error as SpikedError).code, 'ERR_DAEMON_NOT_RUNNING');
  assert.is((await raw.result(1))['stop_reason'], 'cancelled');
  assert.equal(await ended, { code: 0, signal: null });
});

test('scores that outlast it are told what was cancelled and why, under way or waiting', async () => {
  const daemon = await start(['--drain-ms', '0', '--context', '1000000']);
  const raw = await RawClient.connect(daemon.path);
  const tokens = Array.from({ length: 4000 }, (_, i) => i % 500);
  const calls = Array.from({ length: 40 }, (_, i) => i + 1);
  for (const id of calls) raw.send(0, id, 'text.score', [{ tokens }]);
  await raw.result(1);
  const ended = daemon.stop();
  const answers = await Promise.all(calls.map((id) => raw.answer(id)));
  const errors = answers.flatMap(([, , error]) => (Array.isArray(error) ? [String(error[1])] : []));
  assert.ok(errors.length > 4, `${String(errors.length)} were cancelled`);
  for (const error of errors)
    assert.is(error, 'ERR_CANCELLED: text.score: the daemon stops, or its connection ended');
  assert.is((await ended).code, 0);
});

test('a second signal ends it at once', async () => {
  const daemon = await start(['--drain-ms', '60000', '--context', '1000000', '--max-tokens', '1000000']);
  const raw = await RawClient.connect(daemon.path);
  raw.send(0, 1, 'text.generate', [{ stream: 1, tokens: [1], max_tokens: 1_000_000 }]);
  await raw.until('a token', () => raw.events('text.token').length > 0);
  daemon.child.kill('SIGTERM');
  await raw.until('the log', () => daemon.stderr.includes('"stopping"'));
  assert.equal(await daemon.stop('SIGINT'), { code: 130, signal: null });
});

/** Loaded before the daemon: says when its last signal handler is about to be there. */
const tellHandlers = `process.on('newListener', (name) => name === 'SIGHUP' && process.stderr.write('handlers\\n'))`;

test('a signal at any time of the start ends it without a trace', async () => {
  for (const delayMs of [0, 20, 50, 100, 200, 400]) {
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(tellHandlers)}` };
    const daemon = DaemonProcess.spawn(['--model', model], socketPath(), env);
    running.push(daemon);
    // Before its first lines have run there is nobody to catch a signal.
    while (!daemon.stderr.includes('handlers')) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    assert.equal(await daemon.stop(), { code: 0, signal: null }, `${String(delayMs)} ms: ${daemon.stderr}`);
    assert.not.ok(existsSync(daemon.path));
    assert.equal(
      readdirSync(dirname(daemon.path)).filter((name) => name.startsWith('.')),
      [],
    );
  }
});

test('a log that nobody reads any more stops nothing', async () => {
  const daemon = await start();
  daemon.child.stderr?.destroy();
  daemon.child.stdout?.destroy();
  for (let i = 0; i < 3; i++) {
    const raw = await RawClient.connect(daemon.path);
    raw.write([0xc1]);
    await raw.gone();
    raw.close();
  }
  const client = await daemon.client();
  assert.ok(await client.serverInfo());
  await client.close();
  assert.is((await daemon.stop()).code, 0);
});

test('SIGHUP without a configuration file changes nothing', async () => {
  const daemon = await start();
  daemon.child.kill('SIGHUP');
  const client = await daemon.client();
  assert.ok(await client.serverInfo());
  await client.close();
});

test('--until-stdin-ends', async () => {
  const daemon = await start(['--until-stdin-ends']);
  daemon.child.stdin?.end();
  assert.equal(await daemon.ended, { code: 0, signal: null });
});

test('each way to fail has its exit code and one line that names the thing', async () => {
  const cases: [args: string[], code: number, text: RegExp][] = [
    [[], 78, /ERR_CONFIG_INVALID: models: expected --model, or "models" in the file of --config/],
    [['--model', model, '--threads', 'two'], 2, /expected a whole number/],
    [
      ['--model', model, '--threads', '0'],
      78,
      /ERR_CONFIG_INVALID: --threads: expected a number at least 1, found 0/,
    ],
    [['--model', model, '--max-depth', '2'], 78, /ERR_CONFIG_INVALID: --max-depth: /],
    [['--model', model, '--no-such'], 2, /unknown option '--no-such'/],
    [['--model', model, 'extra'], 2, /too many arguments/],
    [['--model', model, '--log-level', 'loud'], 2, /log-level/],
    [['--model', model, '--isa', 'mmx'], 78, /ERR_ISA_UNSUPPORTED/],
    [['--model', '/no/such.gguf'], 3, /ERR_FILE_NOT_FOUND: --model \/no\/such.gguf/],
    [['--model', import.meta.filename], 3, /ERR_MODEL_INVALID/],
    [['--model', tempDir()], 3, /ERR_MODEL_NOT_FOUND/],
  ];
  for (const [args, code, text] of cases) {
    const ended = await refusal(args);
    assert.is(ended.code, code, `${args.join(' ')}: ${ended.stderr}`);
    assert.match(ended.stderr, text);
  }
  const help = spawn(['--help']);
  assert.is((await help.ended).code, 0);
  assert.match(help.stdout, /Exit codes: 0 /);
});

test.run();
