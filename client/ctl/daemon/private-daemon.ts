import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect, isErrorCode, SpikedError, type Client } from '../../index.js';

const daemonProgram = fileURLToPath(new URL('../../../daemon/main.js', import.meta.url));
const startTimeoutMs = 120_000;
const stopTimeoutMs = 10_000;
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const keptStderrBytes = 16_384;

/** A daemon of our own: a child process on a socket that nobody else knows. */
export interface PrivateDaemon {
  readonly pid: number;
  readonly socketPath: string;
  readonly client: Client;
  /** Ends the child and removes its folder; returns when both are gone. */
  stop(): Promise<void>;
}

export interface PrivateDaemonOptions {
  /** Further options of its command line. */
  readonly args?: readonly string[];
  /** The caller ends daemon and process in its own order when the process is told to stop. */
  readonly callerHandlesSignals?: boolean;
}

/**
 * Starts a daemon with one model and waits until it answers.
 *
 * @throws SpikedError what the daemon reported when it ended instead, ERR_TIMEOUT when it says nothing
 */
export async function startPrivateDaemon(
  model: string,
  options: PrivateDaemonOptions = {},
): Promise<PrivateDaemon> {
  const folder = await mkdtemp(join(tmpdir(), 'spiked-'));
  const socketPath = join(folder, 'spiked.sock');
  const args = ['--socket', socketPath, '--model', model, '--log-level', 'error', '--until-stdin-ends'];
  args.push('--no-self-test'); // one command should not wait for it
  args.push(...(options.args ?? []));
  // Its own process group: Ctrl-C reaches the command alone, which cancels and then stops the daemon in order. The pipe at
  // its standard input ends it even when the command is killed.
  const child = spawn(process.execPath, [daemonProgram, ...args], {
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
  });
  const log = keepTail(child);
  const leave = () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', leave);
  const handlers = (options.callerHandlesSignals === true ? [] : stopSignals).map(
    (signal) => [signal, () => process.exit(128 + constants.signals[signal])] as const,
  );
  for (const [signal, handler] of handlers) process.on(signal, handler);
  const stop = async () => {
    await endChild(child);
    process.off('exit', leave);
    for (const [signal, handler] of handlers) process.off(signal, handler);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const client = await connectWhenReady(child, socketPath, log);
    // From here on the caller knows what an interrupt should end first.
    for (const [signal, handler] of handlers) if (signal === 'SIGINT') process.off(signal, handler);
    return {
      pid: child.pid ?? 0,
      socketPath,
      client,
      async stop() {
        await client.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function connectWhenReady(child: ChildProcess, path: string, log: () => string): Promise<Client> {
  const deadline = performance.now() + startTimeoutMs;
  let failure: Error | undefined;
  child.once('error', (error) => (failure = error));
  while (performance.now() < deadline) {
    if (failure) throw new SpikedError('ERR_INTERNAL', `private daemon: cannot start: ${failure.message}`);
    if (child.exitCode !== null || child.signalCode !== null) throw reasonOf(child, log());
    try {
      return await connect({ path });
    } catch (error) {
      if (!(error instanceof SpikedError) || error.code !== 'ERR_DAEMON_NOT_RUNNING') throw error;
      await sleep(20);
    }
  }
  throw new SpikedError(
    'ERR_TIMEOUT',
    `private daemon: expected an answer within ${startTimeoutMs / 1000} s, found none`,
  );
}

/** The daemon's own last error, which says more than that it ended. */
function reasonOf(child: ChildProcess, log: string): SpikedError {
  const errors = [...log.matchAll(/^spiked: (ERR_[A-Z_]+): (.+)$/gm)];
  const [, code = '', message = ''] = errors.at(-1) ?? [];
  if (isErrorCode(code)) return new SpikedError(code, message.trim());
  return new SpikedError(
    'ERR_INTERNAL',
    `private daemon: ended at once (${child.signalCode ?? `status ${child.exitCode}`})`,
  );
}

async function endChild(child: ChildProcess): Promise<void> {
  const gone = () => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  if (gone()) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
  await ended;
  clearTimeout(timer);
}

function keepTail(child: ChildProcess): () => string {
  let text = '';
  child.stderr
    ?.setEncoding('utf8')
    .on('data', (part: string) => (text = (text + part).slice(-keptStderrBytes)));
  return () => text;
}
