import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { assert, killGroup, tempDir } from '../tools/suite.js';
import { addonEnv, arm64Node, type Cpu } from './arm64.js';

export interface EmulatedDaemon {
  cpu: Cpu;
  model: string;
  /** The daemon's program: the checkout's unless given. */
  program?: string;
  env?: NodeJS.ProcessEnv;
}

/** A daemon in the arm64 Node; `body` gets its socket. Stops it as an operator would and checks that it ends well. */
export async function withDaemon(
  { cpu, model, program = 'daemon/main.js', env = addonEnv }: EmulatedDaemon,
  body: (socket: string) => Promise<void>,
): Promise<void> {
  const socket = join(tempDir(), 's');
  const [command, args] = arm64Node(cpu, program, ['--socket', socket, '--threads', '2', '--model', model]);
  const daemon = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const kill = (): void => {
    killGroup(daemon);
  };
  process.once('exit', kill);
  let log = '';
  daemon.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const ended = once(daemon, 'close');
  try {
    const ready = await Promise.race([once(daemon.stdout, 'data').then(() => true), ended.then(() => false)]);
    assert.ok(ready, log);
    await body(socket);
    daemon.kill('SIGTERM');
    const [code] = (await ended) as [number | null];
    assert.is(code, 0, log);
  } finally {
    kill();
    process.off('exit', kill);
  }
}
