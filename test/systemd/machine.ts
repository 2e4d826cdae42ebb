/** A Debian with systemd as its first process, in a container that leaves nothing behind: its changes live in memory. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { assert, killGroup, missing, root, run, type RunResult } from '../tools/suite.js';

const rootfs = join(root, 'build-systemd/rootfs');
const release = 'bookworm';
const packages = 'systemd,systemd-sysv,dbus,libstdc++6,libsystemd0,procps';
const bootMs = 120_000;

/** Why no container can run here, or undefined. */
export const noMachine =
  process.env['SPIKED_TEST_SYSTEMD'] !== '1' && process.env['SPIKED_TEST_LONG'] !== '1'
    ? 'SPIKED_TEST_SYSTEMD=1 is not set'
    : process.getuid?.() === 0
      ? (missing('systemd-nspawn', 'nsenter') ?? (existsSync(rootfs) ? undefined : missing('debootstrap')))
      : 'only root can start a container';

/** Downloads the system once, into build-systemd/. */
async function installSystem(): Promise<void> {
  if (existsSync(rootfs)) return;
  mkdirSync(join(root, 'build-systemd'), { recursive: true });
  const draft = `${rootfs}.${process.pid}.tmp`;
  const args = ['--variant=minbase', `--include=${packages}`, release, draft];
  const { code, stdout, stderr } = await run('debootstrap', args, { timeoutMs: 900_000 });
  assert.is(code, 0, stdout + stderr);
  renameSync(draft, rootfs);
}

export class Machine {
  private constructor(
    private readonly child: ChildProcess,
    private readonly init: string,
  ) {}

  /** Boots with `folder` of this machine as `path`, and this machine's Node as /usr/bin/node, both read-only. */
  static async boot(folder: string, path: string): Promise<Machine> {
    await installSystem();
    const args = [
      ...['--quiet', '--boot', `--directory=${rootfs}`, '--volatile=overlay', '--private-network'],
      ...['--register=no', '--keep-unit', `--machine=spiked-test-${process.pid}`, '--console=pipe'],
      ...[`--bind-ro=${realpathSync(process.execPath)}:/usr/bin/node`, `--bind-ro=${folder}:${path}`],
    ];
    const child = spawn('systemd-nspawn', args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    process.once('exit', () => {
      killGroup(child);
    });
    let log = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (log += chunk.toString()));
    const machine = new Machine(child, await firstProcess(child, () => log));
    await until('the end of the boot', async () => {
      const { stdout } = await machine.run('systemctl', 'is-system-running');
      return ['running', 'degraded'].includes(stdout.trim());
    });
    return machine;
  }

  /** Runs a program inside, to its end. */
  run(program: string, ...args: string[]): Promise<RunResult> {
    const clean = ['env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root'];
    return run('nsenter', ['--target', this.init, '--all', '--', ...clean, program, ...args], {
      timeoutMs: bootMs,
    });
  }

  /** Runs a program that must succeed; returns its standard output. */
  async output(program: string, ...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(program, ...args);
    assert.is(code, 0, `${program} ${args.join(' ')}: ${stdout}${stderr}`);
    return stdout.trim();
  }

  /** A manager of the user's own units, as a login makes it; returns what runs a program as the user. */
  async user(name: string): Promise<(program: string, ...args: string[]) => Promise<string>> {
    await this.output('useradd', '--create-home', name);
    const uid = await this.output('id', '-u', name);
    const runtime = `XDG_RUNTIME_DIR=/run/user/${uid}`;
    // The image has no PAM module that would say so.
    await this.write(
      `/run/systemd/system/user@${uid}.service.d/test.conf`,
      `[Service]\nPAMName=\nEnvironment=${runtime} HOME=/home/${name}\n`,
    );
    await this.output('systemctl', 'daemon-reload');
    await this.output('systemctl', 'start', `user@${uid}.service`);
    const as = ['--user', name, '--', 'env', runtime, `HOME=/home/${name}`];
    return (program, ...args) => this.output('runuser', ...as, program, ...args);
  }

  /** A property that systemd tells of a unit. */
  show(unit: string, property: string): Promise<string> {
    return this.output('systemctl', 'show', unit, `--property=${property}`, '--value');
  }

  async write(path: string, text: string): Promise<void> {
    await this.output('sh', '-c', 'mkdir -p "$(dirname "$1")" && printf %s "$2" > "$1"', 'sh', path, text);
  }

  async powerOff(): Promise<void> {
    const ended = once(this.child, 'close');
    await this.run('systemctl', 'poweroff');
    const late = setTimeout(() => {
      killGroup(this.child);
    }, bootMs);
    await ended;
    clearTimeout(late);
  }
}

/** Its pid out here, by which nsenter reaches the container. */
async function firstProcess(child: ChildProcess, log: () => string): Promise<string> {
  const list = `/proc/${String(child.pid)}/task/${String(child.pid)}/children`;
  let pid = '';
  await until(`a container: ${log()}`, async () => {
    if (child.exitCode !== null) throw new Error(`systemd-nspawn ended: ${log()}`);
    pid = readFileSync(list, 'utf8').trim().split(' ')[0] ?? '';
    return pid !== '';
  });
  return pid;
}

/** Waits for what must come, without a bound of its own but the boot's. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + bootMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited for ${what} in vain`);
    await sleep(200);
  }
}
