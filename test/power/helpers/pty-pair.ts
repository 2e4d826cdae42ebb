import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tempDir } from '../../tools/suite.js';

/** Two ends of a serial cable, made by socat of two pseudo-terminals. */
export interface PtyPair {
  /** For the meter's driver. */
  readonly near: string;
  /** For whoever plays the meter. */
  readonly far: string;
  /** Pulls the plug: both ends hang up and their names are gone. */
  unplug(): Promise<void>;
  /** Plugs in again, under the same names. */
  plug(): Promise<void>;
}

const folder = tempDir();
let made = 0;
const running = new Set<ChildProcess>();
process.on('exit', () => running.forEach((child) => child.kill('SIGTERM')));

/** Unplug it at the end: socat runs until then. */
export async function ptyPair(): Promise<PtyPair> {
  made += 1;
  const [near, far] = [join(folder, `near-${made}`), join(folder, `far-${made}`)];
  let end: () => Promise<void> = async () => undefined;
  const plug = async (): Promise<void> => {
    const child = spawn('socat', [`pty,raw,echo=0,link=${near}`, `pty,raw,echo=0,link=${far}`], {
      stdio: 'ignore',
    });
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    running.add(child);
    end = async () => {
      child.kill('SIGTERM');
      await ended;
      running.delete(child);
    };
    for (let tries = 0; !(existsSync(near) && existsSync(far)); ++tries) {
      if (tries > 500) throw new Error('socat made no pseudo-terminals');
      await sleep(10);
    }
  };
  await plug();
  return { near, far, plug, unplug: () => end() };
}
