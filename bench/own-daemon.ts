import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SpikedError } from '../client/protocol/errors.js';
import { packageRoot } from '../native/host/package-root.js';

export interface OwnDaemon {
  pid: number;
  /** Its socket. */
  path: string;
  stop(): Promise<void>;
}

/** A daemon for one program, at a socket of its own. @throws SpikedError ERR_DAEMON_NOT_RUNNING when it does not come to serve */
export async function startOwnDaemon(args: readonly string[]): Promise<OwnDaemon> {
  const folder = mkdtempSync(join(tmpdir(), 'spiked-bench-'));
  const path = join(folder, 'spiked.sock');
  const program = join(packageRoot, 'dist/daemon/main.js');
  const all = [program, '--socket', path, '--log-level', 'warn', ...args];
  const child = spawn(process.execPath, all, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  await Promise.race([once(child.stdout, 'data'), ended]);
  if (child.exitCode !== null) {
    const text = `spiked: expected it to serve, found exit status ${child.exitCode}`;
    throw new SpikedError('ERR_DAEMON_NOT_RUNNING', text);
  }
  const stop = async (): Promise<void> => {
    child.kill();
    await ended;
    rmSync(folder, { recursive: true });
  };
  return { pid: child.pid ?? 0, path, stop };
}
