/** A real daemon in a process of its own, for the length of a test file. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { connect, type Client } from '../../../client/index.js';
import { root, tempDir } from '../../tools/suite.js';

export const daemonProgram = join(root, 'dist/daemon/main.js');
const startMs = 60_000;
const endMs = 60_000;

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export class DaemonProcess {
  stdout = '';
  stderr = '';
  readonly ended: Promise<Ended>;

  /** A child that serves, or will serve, at the path. */
  constructor(
    readonly child: ChildProcess,
    readonly path: string,
  ) {
    const kill = (): void => void child.kill('SIGKILL');
    process.once('exit', kill);
    child.stdout?.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.ended = once(child, 'close').then(([code, signal]) => {
      process.off('exit', kill);
      return { code: code as number | null, signal: signal as NodeJS.Signals | null };
    });
  }

  /** Starts `spiked` without waiting for it to be ready. */
  static spawn(
    args: readonly string[],
    path: string = socketPath(),
    env: NodeJS.ProcessEnv = {},
  ): DaemonProcess {
    const common = ['--socket', path, '--threads', '1', '--no-self-test'];
    const child = spawn(process.execPath, [daemonProgram, ...common, ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    return new DaemonProcess(child, path);
  }

  static async start(args: readonly string[], path?: string): Promise<DaemonProcess> {
    const daemon = DaemonProcess.spawn(args, path);
    await daemon.ready();
    return daemon;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Waits for the line that says so. */
  async ready(): Promise<void> {
    const late = setTimeout(() => this.child.kill('SIGKILL'), startMs);
    const line = new Promise<'ready'>((resolve) => {
      const look = (): void => {
        if (this.stdout.includes('\n')) resolve('ready');
      };
      this.child.stdout?.on('data', look);
      look();
    });
    const first = await Promise.race([line, this.ended]);
    clearTimeout(late);
    if (first === 'ready') return;
    throw new Error(`the daemon ended with ${String(first.code ?? first.signal)}: ${this.stderr}`);
  }

  client(): Promise<Client> {
    return connect({ path: this.path });
  }

  /** Sends a signal and waits for the end. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.child.kill(signal);
    const timer = setTimeout(() => this.child.kill('SIGABRT'), endMs);
    const ended = await this.ended;
    clearTimeout(timer);
    if (ended.signal === 'SIGABRT')
      throw new Error(`the daemon did not end within ${String(endMs)} ms: ${this.stderr}`);
    return ended;
  }
}

let sockets = 0;
const folder = tempDir();

/** A fresh socket path. */
export function socketPath(): string {
  return join(folder, `${String(sockets++)}.sock`);
}

/** After a test: none of its daemons may go on. */
export async function killAll(running: DaemonProcess[]): Promise<void> {
  for (const daemon of running.splice(0)) {
    daemon.child.kill('SIGKILL');
    await daemon.ended;
  }
}
