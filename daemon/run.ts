import { CommanderError } from 'commander';
import { SpikedError } from '../client/protocol/index.js';
import { addon } from '../native/host/index.js';
import { readCommandLine } from './command-line.js';
import { exitCodeOf, exitCodes } from './exit-codes.js';
import { startDaemon, type Daemon } from './start.js';

/** The program after its signal handlers: reads the command line, serves until `stop` aborts, returns the exit code. */
export async function run(argv: readonly string[], stop: AbortController): Promise<number> {
  let daemon: Daemon | undefined;
  try {
    const { options, untilStdinEnds } = readCommandLine(argv, versionText);
    if (untilStdinEnds) {
      const abort = (): void => {
        stop.abort();
      };
      process.stdin.on('end', abort).on('close', abort).on('error', abort).resume();
    }
    daemon = await startDaemon(options, stop.signal);
    process.stdout.on('error', () => undefined);
    process.stdout.write(`spiked: ready at ${daemon.address}, pid ${process.pid}\n`);
    await aborted(stop.signal);
    await daemon.close();
    return exitCodes.ok;
  } catch (error) {
    return report(error);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function report(error: unknown): number {
  // Commander has written its own message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (error instanceof SpikedError) {
    if (error.code !== 'ERR_CANCELLED') process.stderr.write(`spiked: ${error.code}: ${error.message}\n`);
    return exitCodeOf(error.code);
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`spiked: ERR_INTERNAL: ${detail}\n`);
  return exitCodes.internal;
}

function versionText(): string {
  try {
    const { version, commit } = addon().build();
    return `spiked ${version} (${commit})`;
  } catch {
    return 'spiked, native part not built';
  }
}
