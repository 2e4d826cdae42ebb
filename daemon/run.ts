import { CommanderError } from 'commander';
import { SpikedError } from '../client/protocol/index.js';
import { addon } from '../native/host/index.js';
import { readCommandLine, type CommandLine } from './command-line.js';
import { combine, readConfigFile } from './config-file.js';
import type { DaemonOptions } from './config.js';
import { exitCodeOf, exitCodes } from './exit-codes.js';
import { sayOnStderr } from './log.js';
import { takeServiceEnvironment } from './service/environment.js';
import { noServiceManager, ServiceManager } from './service/manager.js';
import { statusOf } from './service/reports.js';
import { namesOf } from './setting-names.js';
import { startDaemon, type Daemon } from './start.js';

/** The program after its signal handlers: reads the command line, serves until `stop` aborts, returns the exit code. */
export async function run(argv: readonly string[], stop: AbortController): Promise<number> {
  let manager = noServiceManager;
  try {
    manager = new ServiceManager(takeServiceEnvironment(process.env, process.pid));
    const commandLine = readCommandLine(argv, versionText);
    if (commandLine.untilStdinEnds) {
      const abort = (): void => {
        stop.abort();
      };
      process.stdin.on('end', abort).on('close', abort).on('error', abort).resume();
    }
    const names = namesOf(commandLine.options, commandLine.configPath);
    const daemon = await startDaemon(await readOptions(commandLine), stop.signal, manager, names);
    let reloads = Promise.resolve();
    let waiting = false;
    process.on('SIGHUP', () => {
      // The reload that has yet to begin reads the file as it is then.
      if (waiting) return;
      waiting = true;
      reloads = reloads.then(async () => {
        waiting = false;
        if (!stop.signal.aborted) await reload(daemon, commandLine, manager);
      });
    });
    process.stdout.on('error', () => undefined);
    process.stdout.write(`spiked: ready at ${daemon.address}, pid ${process.pid}\n`);
    await aborted(stop.signal);
    await daemon.close();
    return exitCodes.ok;
  } catch (error) {
    return report(error, manager);
  }
}

async function readOptions({ options, configPath }: CommandLine): Promise<DaemonOptions> {
  return combine(configPath === undefined ? {} : await readConfigFile(configPath), options);
}

/** Reads the configuration file again; a broken one changes nothing. */
async function reload(daemon: Daemon, commandLine: CommandLine, manager: ServiceManager): Promise<void> {
  manager.reloading();
  try {
    daemon.reload(await readOptions(commandLine));
  } catch (error) {
    const reason = error instanceof SpikedError ? error.message : String(error);
    daemon.state.log.error({ reason }, 'the configuration stays as it was');
  }
  if (!daemon.state.stopping) manager.ready(statusOf(daemon.state));
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function report(error: unknown, manager: ServiceManager): number {
  // Commander has written its own message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (error instanceof SpikedError) {
    if (error.code === 'ERR_CANCELLED') return exitCodes.ok;
    manager.status(`${error.code}: ${error.message}`);
    sayOnStderr(`spiked: ${error.code}: ${error.message}`);
    return exitCodeOf(error.code);
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  sayOnStderr(`spiked: ERR_INTERNAL: ${detail}`);
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
