import { constants } from 'node:fs';
import { access, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SpikedError } from '../../../client/protocol/errors.js';
import { groupName, joinGroup, me, userName } from './accounts.js';
import { holders } from './port-holders.js';

const byId = '/dev/serial/by-id';
const unreachable = (path: string, text: string, cause?: unknown): SpikedError =>
  new SpikedError('ERR_METER_UNREACHABLE', `${path}: ${text}`, { cause });

/** What else there is, and who takes adapters away seconds after they are plugged in. */
async function absent(path: string): Promise<SpikedError> {
  const named = (await readdir(byId).catch(() => [])).map((name) => join(byId, name));
  const bare = (await readdir('/dev').catch(() => [])).filter((name) => /^tty(USB|ACM)/.test(name));
  const ports = named.length > 0 ? named : bare.map((name) => `/dev/${name}`);
  const found =
    ports.length === 0 ? 'no serial adapter is plugged in' : `the adapters here are ${ports.join(', ')}`;
  const grabber = (await stat('/usr/bin/brltty').catch(() => undefined)) !== undefined;
  const hint = grabber
    ? '; brltty is installed and takes CH340, CP210x and FTDI adapters for braille displays: remove it, or mask brltty-udev.service'
    : '';
  return unreachable(path, `there is no such port; ${found}${hint}`);
}

/**
 * Why a port cannot be opened, with the fix; undefined when nothing is against it that can be seen before it is tried.
 *
 * The error is ERR_METER_UNREACHABLE and names file, owner, group and mode.
 */
export async function portFault(path: string): Promise<SpikedError | undefined> {
  const file = await stat(path).catch((error: unknown) => error as NodeJS.ErrnoException);
  if (file instanceof Error)
    return file.code === 'ENOENT' ? absent(path) : unreachable(path, file.message, file);
  if (!file.isCharacterDevice())
    return unreachable(path, 'a serial port was expected, this is a file or folder');
  const mayUse = await access(path, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  );
  if (mayUse) return undefined;
  const mode = (file.mode & 0o777).toString(8).padStart(4, '0');
  const groupMay = (file.mode & 0o060) === 0o060;
  const member = (process.getgroups?.() ?? []).includes(file.gid);
  const fix =
    groupMay && !member
      ? joinGroup(file.gid)
      : `give its group both rights by a udev rule (MODE="0660", GROUP="dialout")`;
  const who = `${userName(file.uid)}:${groupName(file.gid)}, mode ${mode}`;
  return unreachable(path, `${who}: user ${me()} may not read and write it; ${fix}`);
}

/** What made `open` fail although `portFault` saw nothing: held by another program, or no terminal. */
export async function openFault(path: string, cause: Error): Promise<SpikedError> {
  if (!/lock|busy/i.test(cause.message))
    return unreachable(path, `cannot be opened: ${cause.message}`, cause);
  const real = await realpath(path).catch(() => path);
  const others = (await holders(real).catch(() => [])).map(({ pid, name }) => `${name} (pid ${pid})`);
  const who = others.length === 0 ? 'another program, of another user,' : others.join(', ');
  return unreachable(path, `${who} has it open; two readers would split the bytes: end it`, cause);
}
