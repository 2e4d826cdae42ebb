/** A real daemon in a process of its own, for the length of a test file. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { connect, type Client } from '../../../client/index.js';
import { root, tempDir } from '../../tools/suite.js';

export const daemonProgram = join(root, 'dist/daemon/main.js');
const startMs = 60_000;

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export class DaemonProcess {
  stdout = '';
  stderr = '';
  readonly ended: Promise<Ended>;

  private constructor(
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
  static spawn(args: readonly string[], path: string = socketPath()): DaemonProcess {
    const child = spawn(process.execPath, [daemonProgram, '--socket', path, '--threads', '1', ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
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

  async ready(): Promise<void> {
    const until = Date.now() + startMs;
    const line = (async () => {
      while (!this.stdout.includes('\n')) {
        if (Date.now() > until)
          throw new Error(`the daemon is not ready after ${String(startMs)} ms: ${this.stderr}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    })();
    const early = this.ended.then(({ code, signal }) => {
      throw new Error(`the daemon ended with ${String(code ?? signal)}: ${this.stderr}`);
    });
    early.catch(() => undefined);
    await Promise.race([line, early]);
  }

  client(): Promise<Client> {
    return connect({ path: this.path });
  }

  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.child.kill(signal);
    return this.ended;
  }
}

let sockets = 0;
const folder = tempDir();

/** A fresh socket path. */
export function socketPath(): string {
  return join(folder, `${String(sockets++)}.sock`);
}
