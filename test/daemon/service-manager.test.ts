/** The daemon as a service manager sees it. */
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '../../client/index.js';
import { takeServiceEnvironment } from '../../daemon/service/environment.js';
import { EngineWatch } from '../../daemon/service/watchdog.js';
import { addon, addonPath } from '../../native/host/index.js';
import { assert, missing, suite, tempDir } from '../tools/suite.js';
import { goldenModel, smallCase } from './helpers/models.js';
import { daemonProgram, DaemonProcess, socketPath } from './helpers/process.js';
import { RawClient } from './helpers/raw-client.js';
import { FakeManager } from './helpers/service-manager.js';

const test = suite('service manager');
const noPython = missing('python3');
let model: string;
const running: { stop(): unknown }[] = [];

/** A daemon whose self-test is not left out. */
function serve(
  manager: FakeManager,
  args: string[] = [],
  env: NodeJS.ProcessEnv = {},
  path = socketPath(),
): DaemonProcess {
  const all = [daemonProgram, '--socket', path, '--threads', '1', '--model', model, ...args];
  const child = spawn(process.execPath, all, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, NOTIFY_SOCKET: manager.address, ...env },
  });
  const daemon = new DaemonProcess(child, path);
  running.push({ stop: () => child.kill('SIGKILL') });
  return daemon;
}

async function startManager(address?: string, ...connectTo: [] | [path: string]): Promise<FakeManager> {
  const manager = await FakeManager.start(address, ...connectTo);
  running.push(manager);
  return manager;
}

/** A file for SPIKED_ADDON: the real addon, in which `change` may replace something. */
function changedAddon(change: string): string {
  const path = join(tempDir(), 'addon.cjs');
  writeFileSync(path, `const real = require(${JSON.stringify(addonPath())});\n${change}\n`);
  return path;
}

test.before(async () => {
  model = await goldenModel(smallCase);
});
test.afterEach(() => {
  for (const each of running.splice(0)) each.stop();
});

test.needs(
  noPython,
  'READY comes once the model is loaded and the socket accepts; STOPPING before the end',
  async () => {
    const manager = await startManager();
    const daemon = serve(manager);
    await manager.until('READY', () => manager.lines.includes('READY=1'));
    const client = await connect({ path: daemon.path });
    assert.equal((await client.serverInfo()).models, [smallCase]);
    const before = manager.messages.findIndex((message) => message.startsWith('READY=1'));
    const start = manager.messages.slice(0, before).join('\n');
    assert.match(start, new RegExp(`^STATUS=loading ${smallCase}$`, 'm'));
    assert.match(start, /^EXTEND_TIMEOUT_USEC=30000000$/m);
    assert.is(
      manager.messages[before],
      `READY=1\nSTATUS=ready: ${smallCase}; 0 active, 0 waiting`,
      'in one message',
    );
    assert.not.ok(manager.lines.includes('WATCHDOG=1'), 'nobody asked for signs of life');
    await client.close();
    assert.equal(await daemon.stop(), { code: 0, signal: null });
    assert.match(manager.messages.slice(before + 1).join('\n'), /^STOPPING=1\nSTATUS=stopping: /m);
    assert.is(manager.count('READY=1'), 1);
  },
);

/** Loaded before the daemon: a SIGUSR2 becomes many SIGHUPs in one turn, as a process that was not scheduled for a while gets them. */
const storm = `process.on('SIGUSR2', () => { for (let i = 0; i < 200; i++) process.emit('SIGHUP'); })`;

test.needs(noPython, 'a storm of SIGHUPs is one reload or two, and none after a stop', async () => {
  const manager = await startManager();
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(storm)}` };
  const daemon = serve(manager, [], env);
  await manager.until('READY', () => manager.lines.includes('READY=1'));
  daemon.child.kill('SIGUSR2');
  await manager.until('READY again', () => {
    const reloads = manager.count('RELOADING=1');
    return reloads > 0 && manager.count('READY=1') === 1 + reloads;
  });
  daemon.child.kill('SIGUSR2');
  assert.equal(await daemon.stop(), { code: 0, signal: null });
  const reloads = manager.count('RELOADING=1');
  assert.ok(reloads >= 1 && reloads <= 4, `${String(reloads)} reloads`);
  const { lines } = manager;
  assert.ok(lines.lastIndexOf('RELOADING=1') < lines.indexOf('STOPPING=1'));
});

test.needs(noPython, 'whoever connects at the moment of READY is accepted', async () => {
  const path = socketPath();
  const manager = await startManager(undefined, path);
  serve(manager, ['--no-self-test'], {}, path);
  await manager.until('READY', () => manager.lines.includes('READY=1'));
  assert.ok(manager.lines.includes('connect: 0'), manager.lines.join());
});

test.needs(noPython, 'an abstract address, and the status while requests are active', async () => {
  const manager = await startManager(`@spiked-test-${String(process.pid)}`);
  const daemon = serve(manager, ['--context', '1000000', '--max-tokens', '1000000', '--drain-ms', '0']);
  await manager.until('READY', () => manager.lines.includes('READY=1'));
  const raw = await RawClient.connect(daemon.path);
  raw.send(0, 1, 'text.generate', [{ stream: 1, tokens: [1], max_tokens: 1_000_000 }]);
  await manager.until('the status', () =>
    manager.lines.includes(`STATUS=ready: ${smallCase}; 1 active, 0 waiting`),
  );
  assert.is((await daemon.stop()).code, 0);
});

test.needs(
  noPython,
  'signs of life come while idle and while working, and only to a watchdog that waits for this process',
  async () => {
    const manager = await startManager();
    const daemon = serve(manager, ['--context', '1000000', '--max-tokens', '1000000', '--drain-ms', '0'], {
      WATCHDOG_USEC: '400000',
    });
    await manager.until('signs while idle', () => manager.count('WATCHDOG=1') >= 5);
    const raw = await RawClient.connect(daemon.path);
    raw.send(0, 1, 'text.generate', [{ stream: 1, tokens: [1], max_tokens: 1_000_000 }]);
    await raw.until('a token', () => raw.events('text.token').length > 0);
    const idle = manager.count('WATCHDOG=1');
    await manager.until('signs while working', () => manager.count('WATCHDOG=1') >= idle + 8);
    await daemon.stop();

    const other = await startManager();
    const unwatched = serve(other, [], { WATCHDOG_USEC: '1000', WATCHDOG_PID: '1' });
    await other.until('READY', () => other.lines.includes('READY=1'));
    await unwatched.stop();
    assert.is(other.count('WATCHDOG=1'), 0);
  },
);

test.needs(noPython, 'an engine that stands still gives no sign of life', async () => {
  const manager = await startManager();
  const stuck = changedAddon(`
    const standing = (engine) => new Proxy(engine, {
      get: (target, key) => key === 'progress' ? () => ({ count: 7, pending: 1 })
        : typeof target[key] === 'function' ? target[key].bind(target) : target[key],
    });
    module.exports = { ...real, openEngine: (options) => standing(real.openEngine(options)) };`);
  const daemon = serve(manager, [], { WATCHDOG_USEC: '400000', SPIKED_ADDON: stuck });
  await manager.until('READY', () => manager.lines.includes('READY=1'));
  const late = (): number => daemon.stderr.split('the engine makes no progress').length - 1;
  await manager.until('its complaints', () => late() >= 5);
  // The first looks may still fall into its patience.
  const signs = manager.count('WATCHDOG=1');
  await manager.until('more of them', () => late() >= 12);
  assert.is(manager.count('WATCHDOG=1'), signs);
  await daemon.stop();
});

test('an engine works while its count moves, while nothing waits, and while a model loads', () => {
  const watch = new EngineWatch(500);
  const works = (count: number, pending: number, nowMs: number, loading = false): boolean =>
    watch.works({ count, pending }, loading, nowMs);
  assert.ok(works(0, 0, 1_000), 'idle');
  assert.ok(works(0, 2, 2_000), 'work has just come');
  assert.ok(works(1, 2, 3_000), 'it moves');
  assert.ok(works(1, 2, 3_499), 'within the patience');
  assert.not.ok(works(1, 2, 3_500), 'beyond it');
  assert.ok(works(2, 2, 4_000), 'it moves again');
  assert.ok(works(2, 3, 60_000, true), 'a load');
  assert.ok(works(2, 3, 800_000, true), 'a slow load');
  assert.not.ok(works(2, 3, 1_000_000, true), 'a load that hangs');
  assert.ok(works(2, 0, 1_000_001), 'idle again');
});

test('the count moves with a generation, on any number of threads', async () => {
  for (const threads of [1, 2]) {
    const engine = addon().openEngine({ threads });
    const native = await engine.openModel(model);
    const session = native.openSession();
    const before = engine.progress();
    const work = session.forward(Int32Array.of(1, 2, 3), { logits: 'none' });
    assert.is(engine.progress().pending, before.pending + 1);
    await work;
    assert.equal(engine.progress().pending, before.pending);
    assert.ok(engine.progress().count > before.count);
    session.close();
    native.close();
    engine.close();
  }
});

test.needs(noPython, 'a kernel that differs from scalar ends the start', async () => {
  const manager = await startManager();
  const wrong = changedAddon(`
    module.exports = { ...real, selfTest: async () => [{ kernel: 'gelu', cases: 9, failures: 2, detail: 'y[3]' }] };`);
  const daemon = serve(manager, [], { SPIKED_ADDON: wrong });
  assert.equal(await daemon.ended, { code: 5, signal: null });
  assert.match(
    daemon.stderr,
    /ERR_CHECK_FAILED: self-test of "\w+": kernel gelu: .* 9 cases, found others in 2: y\[3\]/,
  );
  await manager.until('the reason', () =>
    manager.lines.some((line) => line.startsWith('STATUS=ERR_CHECK_FAILED')),
  );
  assert.not.ok(manager.lines.includes('READY=1'));
  const trusting = serve(manager, ['--no-self-test'], { SPIKED_ADDON: wrong });
  await trusting.ready();
  assert.is((await trusting.stop()).code, 0);
});

test('a manager that has gone disturbs nothing', async () => {
  const daemon = DaemonProcess.spawn(['--model', model], socketPath(), {
    NOTIFY_SOCKET: join(tempDir(), 'nobody'),
    WATCHDOG_USEC: '10000',
  });
  running.push({ stop: () => daemon.child.kill('SIGKILL') });
  await daemon.ready();
  assert.is((await daemon.stop()).code, 0);
});

test('what a manager says is taken out of the environment, and only believed when it is meant for this process', () => {
  const own = String(process.pid);
  const all = {
    NOTIFY_SOCKET: '/n',
    WATCHDOG_USEC: '3000000',
    WATCHDOG_PID: own,
    LISTEN_FDS: '1',
    LISTEN_PID: own,
    LISTEN_FDNAMES: 'spiked.socket',
  };
  Object.assign(process.env, all);
  assert.equal(takeServiceEnvironment(process.env, process.pid), {
    notifyAddress: '/n',
    watchdogMs: 3000,
    socketFd: 3,
  });
  const child = spawnSync(process.execPath, ['-p', 'JSON.stringify(process.env)'], { encoding: 'utf8' });
  for (const name of Object.keys(all)) assert.not.match(child.stdout, name);
  const others = { ...all, WATCHDOG_PID: '1', LISTEN_PID: '1' };
  assert.equal(takeServiceEnvironment(others, process.pid), {
    notifyAddress: '/n',
    watchdogMs: undefined,
    socketFd: undefined,
  });
  assert.equal(others, {});
  const two = { LISTEN_PID: own, LISTEN_FDS: '2', LISTEN_FDNAMES: 'a:b' };
  assert.throws(
    () => takeServiceEnvironment(two, process.pid),
    /LISTEN_FDS: expected one socket to serve, found 2 \(a:b\)/,
  );
});

test.run();
