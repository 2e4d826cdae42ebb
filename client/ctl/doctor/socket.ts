import { lstat } from 'node:fs/promises';
import { addon } from '../../../native/host/index.js';
import type { SpikedError } from '../../protocol/errors.js';
import { groupName, joinGroup, userName } from '../../../power/meters/serial/accounts.js';
import { fail, isRunning, ok, warn, type Check, type Subject } from './check.js';

const start = 'start one: spiked --model MODEL, or spikectl service install';

/** Where the daemon is reached, by whom, and who answers. */
export async function checkSocket({ socketPath: path, daemon }: Subject): Promise<Check[]> {
  if (!isRunning(daemon) && daemon.code === 'ERR_SOCKET_PATH' && daemon.cause === undefined)
    return [fail('socket', daemon.message, 'choose another path: --socket')];
  const entry = await lstat(path).catch((error: unknown) => error as NodeJS.ErrnoException);
  if (entry instanceof Error)
    return entry.code === 'ENOENT'
      ? [warn('socket', `${path}: no daemon, there is nothing`, start)]
      : [
          fail(
            'socket',
            `${path}: cannot be looked at: ${entry.message}`,
            'give this user the right to its folder',
          ),
        ];
  if (!entry.isSocket())
    return [fail('socket', `${path}: expected a socket, found another kind of file`, 'move it away')];
  const mode = `mode 0${(entry.mode & 0o777).toString(8)}`;
  const text = `${path}: of ${userName(entry.uid)}:${groupName(entry.gid)}, ${mode}`;
  const rights = (entry.mode & 0o002) === 0 ? ok('socket', text) : openToAll(text);
  return [rights, isRunning(daemon) ? checkOwner(daemon.info) : silent(daemon, entry.gid)];
}

function openToAll(text: string): Check {
  return warn(
    'socket',
    `${text}: every user of this machine may connect`,
    'let its group in only: socket_mode 0660 in the configuration',
  );
}

function checkOwner({
  pid,
  version,
  commit,
  uptime_s: uptime,
}: {
  pid: number;
  version: string;
  commit: string;
  uptime_s: number;
}): Check {
  const build = addon().build();
  const text = `pid ${pid}, version ${version} (commit ${commit}), up ${uptime.toFixed(0)} s`;
  if (version === build.version && commit === build.commit) return ok('daemon', text);
  return warn(
    'daemon',
    `${text}; this program is ${build.version} (commit ${build.commit})`,
    'restart the daemon',
  );
}

function silent(error: SpikedError, gid: number): Check {
  if (error.code === 'ERR_PEER_FORBIDDEN')
    return fail(
      'daemon',
      error.message,
      `name ${userName(process.getuid?.() ?? 0)} in allow_uids or allow_gids`,
    );
  const cause = (error.cause as NodeJS.ErrnoException | undefined)?.code;
  if (cause === 'EACCES') return fail('daemon', error.message, joinGroup(gid));
  if (cause === 'ECONNREFUSED')
    return fail('daemon', `${error.message}: its daemon is gone`, `${start}; it takes the path over`);
  return fail('daemon', error.message, 'see the log of the daemon: journalctl -u spiked');
}
