/** The installed service under a real systemd: activation, crash, watchdog, stop, wrong configuration. */
import { pack, unpack } from '../package/helpers.js';
import { assert, suite } from '../tools/suite.js';
import { Machine, noMachine, until } from './machine.js';

const test = suite('systemd');
const ctl = '/opt/spiked/bin/spikectl';
const config = '/etc/spiked/config.json';
let machine: Machine;

if (noMachine === undefined) {
  test.before(async () => {
    const folder = await unpack((await pack(`linux-${process.arch}`, 'build')).archive);
    machine = await Machine.boot(folder, '/opt/spiked');
    await machine.output(ctl, 'service', 'install', '--prefix', '/opt/spiked', '--node', '/usr/bin/node');
  });
  test.after(() => machine.powerOff());
}

const service = (property: string): Promise<string> => machine.show('spiked.service', property);
const generate = (...args: string[]) =>
  machine.run(ctl, 'run', 'It was', '--socket', '/run/spiked/spiked.sock', ...args);

async function answers(): Promise<void> {
  const { code, stderr } = await generate('--max-tokens', '2');
  assert.is(code, 0, stderr + (await machine.output('journalctl', '-u', 'spiked', '-n', '20', '--no-pager')));
}

/** Does something to the running daemon, and waits for the one that takes its place. */
async function replaced(by: (pid: string) => Promise<unknown>): Promise<void> {
  const pid = await service('MainPID');
  await by(pid);
  await until('another process', async () => {
    const now = await service('MainPID');
    return now !== '0' && now !== pid && (await service('ActiveState')) === 'active';
  });
}

test.needs(noMachine, 'the socket listens for its group before anything runs', async () => {
  assert.is(await machine.show('spiked.socket', 'ActiveState'), 'active');
  assert.is(await service('ActiveState'), 'inactive');
  assert.is(await machine.output('stat', '-c', '%a %U %G', '/run/spiked/spiked.sock'), '660 root spiked');
});

test.needs(
  noMachine,
  'the first connection starts the daemon, as its own user and without a network',
  async () => {
    await answers();
    assert.is(await service('ActiveState'), 'active');
    assert.is(await service('NRestarts'), '0');
    const pid = await service('MainPID');
    assert.is(await machine.output('ps', '-o', 'user=', '-p', pid), 'spiked');
    const rights = await machine.output('cat', `/proc/${pid}/status`);
    assert.match(rights, /^CapEff:\t0+$[^]*^NoNewPrivs:\t1$[^]*^Seccomp:\t2$/m);
    const interfaces = await machine.output('nsenter', '--target', pid, '--net', 'cat', '/proc/net/dev');
    assert.equal(
      [...interfaces.matchAll(/^ *(\w+):/gm)].map(([, name]) => name),
      ['lo'],
    );
    assert.is(await machine.output('stat', '-c', '%a %U %G', '/run/spiked/spiked.sock'), '660 root spiked');
    assert.match(await machine.output(ctl, 'service', 'status'), /^service +running, pid \d+/m);
  },
);

test.needs(noMachine, 'start returns when the daemon is ready', async () => {
  await machine.output('systemctl', 'stop', 'spiked.service');
  await machine.write(
    '/run/systemd/system/spiked.service.d/slow.conf',
    '[Service]\nExecStart=\nExecStart=/bin/sh -c "sleep 3; exec /usr/bin/node /opt/spiked/dist/daemon/main.js --config /etc/spiked/config.json"\n',
  );
  await machine.output('systemctl', 'daemon-reload');
  await machine.output('systemctl', 'start', '--no-block', 'spiked.service');
  await until('a start that goes on', async () => (await service('ActiveState')) === 'activating');
  await machine.output('systemctl', 'start', 'spiked.service');
  assert.is(await service('ActiveState'), 'active');
  assert.match(await service('StatusText'), /./);
  await machine.output('rm', '/run/systemd/system/spiked.service.d/slow.conf');
  await machine.output('systemctl', 'daemon-reload');
});

test.needs(noMachine, 'reload reads the configuration again, in the same process', async () => {
  const [pid, before] = [await service('MainPID'), await machine.output('cat', config)];
  await machine.write(config, before.replace('{', '{ "log_level": "debug",'));
  await machine.output('systemctl', 'reload', 'spiked.service');
  const log = () => machine.output('journalctl', '-u', 'spiked', '--no-pager', '--output=cat');
  await until('a line about it', async () => /configuration reloaded.*log_level/.test(await log()));
  assert.is(await service('MainPID'), pid);
  await machine.write(config, `${before}\n`);
});

test.needs(noMachine, 'a killed daemon comes back', async () => {
  await replaced((pid) => machine.output('kill', '-KILL', pid));
  assert.is(await service('NRestarts'), '1');
  await answers();
});

test.needs(noMachine, 'a daemon that stands still is killed by the watchdog and comes back', async () => {
  await machine.write('/run/systemd/system/spiked.service.d/watchdog.conf', '[Service]\nWatchdogSec=3\n');
  await machine.output('systemctl', 'daemon-reload');
  await machine.output('systemctl', 'restart', 'spiked.service');
  await replaced((pid) => machine.output('kill', '-STOP', pid));
  assert.match(
    await machine.output('journalctl', '-u', 'spiked', '--no-pager', '--output=cat'),
    /Watchdog timeout.*\n[^]*result 'watchdog'/,
  );
  await answers();
});

test.needs(noMachine, 'a stop during a generation ends within its bound, with an answer', async () => {
  // Many: one may be over before the status tells of it.
  const asked = Array.from({ length: 30 }, () => generate('--max-tokens', '4000', '--ignore-eos', '--json'));
  await until('a generation', async () => /[1-9]/.test(await service('StatusText')));
  await machine.output('systemctl', 'stop', 'spiked.service');
  assert.is(await service('Result'), 'success');
  const ended = await Promise.all(asked);
  assert.ok(ended.some(({ stdout }) => stdout.includes('"event":"summary"')));
  for (const { code, stdout, stderr } of ended)
    assert.ok(stdout.includes('"event":"summary"') || /ERR_[A-Z_]+/.test(stderr), `${code}: ${stderr}`);
  // Whoever came later has had it started again.
  await machine.output('systemctl', 'stop', 'spiked.service');
});

test.needs(
  noMachine,
  'a wrong configuration is tried once for each connection, and mended without a word to systemd',
  async () => {
    const good = await machine.output('cat', config);
    await machine.write(config, '{"modles": []}');
    assert.is.not((await generate('--max-tokens', '2')).code, 0);
    await until('the end of the attempt', async () => (await service('ActiveState')) === 'failed');
    const [attempt, restarts] = [await service('InvocationID'), await service('NRestarts')];
    assert.is(await service('ExecMainStatus'), '78');
    assert.is(restarts, '0');
    await machine.output('sleep', '3');
    assert.is(await service('InvocationID'), attempt);
    assert.is(await service('ActiveState'), 'failed');
    assert.is(await machine.show('spiked.socket', 'ActiveState'), 'active');
    await machine.write(config, `${good}\n`);
    await answers();
  },
);

test.needs(noMachine, "a user has a service of their own, before which theirs is the system's", async () => {
  const user = await machine.user('tester');
  await machine.output('usermod', '--append', '--groups', 'spiked', 'tester');
  const owner = async (): Promise<string> => {
    const { pid } = JSON.parse(await user(ctl, 'status', '--json')) as { pid: number };
    return machine.output('ps', '-o', 'user=', '-p', String(pid));
  };
  assert.is(await owner(), 'spiked');
  await user(ctl, 'service', 'install', '--user');
  assert.is(await owner(), 'tester');
  assert.match(await user(ctl, 'service', 'status', '--user'), /^service +running, pid \d+/m);
  await user(ctl, 'service', 'uninstall', '--user');
  assert.is(await user('sh', '-c', 'find "$HOME" -name "*spiked*"'), '');
  assert.is(await owner(), 'spiked');
});

test.needs(noMachine, 'uninstall takes everything away', async () => {
  await machine.output(ctl, 'service', 'uninstall');
  assert.is(await service('LoadState'), 'not-found');
  for (const path of ['/etc/spiked', '/run/spiked/spiked.sock', '/var/lib/spiked'])
    assert.is.not((await machine.run('stat', path)).code, 0, path);
});

test.run();
