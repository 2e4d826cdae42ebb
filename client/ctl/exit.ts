import { CommanderError } from 'commander';
import { SpikedError, type ErrorCode } from '../protocol/errors.js';

/** What a script may rely on; docs/cli.md lists the same. */
export const exitCode = {
  ok: 0,
  failure: 1,
  usage: 2,
  checkFailed: 3,
  noDaemon: 4,
  interrupted: 130,
} as const;

const special: Partial<Record<ErrorCode, number>> = {
  ERR_USAGE: exitCode.usage,
  ERR_CHECK_FAILED: exitCode.checkFailed,
  ERR_DAEMON_NOT_RUNNING: exitCode.noDaemon,
  ERR_CANCELLED: exitCode.interrupted,
};

export function usage(message: string): SpikedError {
  return new SpikedError('ERR_USAGE', message);
}

/** Any throw as the one line for stderr and the status to exit with. */
export function describeError(error: unknown): { line: string; status: number } {
  const known = toSpikedError(error);
  const text = known.message.replace(/\s*\n\s*/g, ' ').trim();
  return { line: `spikectl: ${known.code}: ${text}`, status: special[known.code] ?? exitCode.failure };
}

function toSpikedError(error: unknown): SpikedError {
  if (error instanceof SpikedError) return error;
  if (error instanceof CommanderError) return usage(commanderText(error));
  if (error instanceof Error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT')
      return new SpikedError('ERR_FILE_NOT_FOUND', `${path ?? error.message}: no such file or directory`);
    if (code !== undefined && code in fileErrors)
      return new SpikedError('ERR_FILE_IO', `${path ?? 'file'}: ${fileErrors[code]}`);
    return new SpikedError('ERR_INTERNAL', `${error.name}: ${error.message}`);
  }
  return new SpikedError('ERR_INTERNAL', `thrown value ${String(error)}`);
}

const fileErrors: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EISDIR: 'expected a file, found a directory',
  ENOTDIR: 'a part of the path is not a directory',
  ENOSPC: 'no space left on the device',
  EROFS: 'the file system is read-only',
  EIO: 'input or output error',
  EMFILE: 'too many open files',
};

function commanderText(error: CommanderError): string {
  if (error.code === 'commander.help') return 'expected a command; --help lists them';
  return error.message.replace(/^error: /, '');
}
