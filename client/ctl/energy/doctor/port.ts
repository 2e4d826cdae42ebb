import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { groupName, userName } from '../../../../power/meters/serial/accounts.js';
import { portFault } from '../../../../power/meters/serial/port-fault.js';
import { holders } from '../../../../power/meters/serial/port-holders.js';
import { isPseudoTerminal, portNameWarning } from '../../../../power/meters/serial-link.js';
import type { SpikedError } from '../../../protocol/errors.js';
import { fail, ok, warn, type Check } from '../../doctor/check.js';

/** What can be said of a serial port before it is opened: there, permitted, free, under a name that stays. */
export async function checkPort(path: string, proc = '/proc'): Promise<Check[]> {
  const fault = await portFault(path);
  if (fault !== undefined) return [faultCheck('port', fault), ...(await checkBraille(path, proc))];
  const { uid, gid, mode } = await stat(path);
  const owner = `${userName(uid)}:${groupName(gid)}, mode ${(mode & 0o777).toString(8).padStart(4, '0')}`;
  if (isPseudoTerminal(path))
    return [
      ok(
        'port',
        `${path}: ${owner}; a pseudo-terminal: a program is behind it, and what it says is simulated`,
      ),
    ];
  const checks = [ok('port', `${path}: ${owner}; this user may use it`)];
  const name = portNameWarning(path);
  if (name !== undefined) checks.push(split('warn', 'port name', name, ': '));
  return [...checks, await checkHolders(path, proc), ...(await checkBraille(path, proc))];
}

/** An error of ours says what was found, then `; ` and the remedy. */
export function faultCheck(name: string, error: SpikedError): Check {
  return split('fail', name, error.message, '; ');
}

function split(status: 'warn' | 'fail', name: string, text: string, mark: string): Check {
  const at = text.indexOf(mark);
  const [found, fix] = at < 0 ? [text, 'see the message'] : [text.slice(0, at), text.slice(at + mark.length)];
  return { name, status, text: found, fix };
}

async function checkHolders(path: string, proc: string): Promise<Check> {
  const others = (await holders(await realpath(path), proc)).filter(({ pid }) => pid !== process.pid);
  if (others.length === 0) return ok('held by', 'no other process of this user');
  const who = others.map(({ pid, name }) => `${name} (pid ${pid})`).join(', ');
  return fail('held by', `${who}: two readers split the bytes between them`, `end ${who}`);
}

/** brltty takes adapters of these chips seconds after they are plugged in. */
async function checkBraille(path: string, proc: string): Promise<Check[]> {
  if (!/ttyUSB|serial\/by-/.test(path)) return [];
  const pids = (await readdir(proc)).filter((name) => /^\d+$/.test(name));
  const names = await Promise.all(
    pids.map((pid) => readFile(join(proc, pid, 'comm'), 'utf8').catch(() => '')),
  );
  if (!names.some((name) => name.trim() === 'brltty')) return [ok('brltty', 'not running')];
  return [
    warn(
      'brltty',
      'it runs, and takes CH340, CP210x and FTDI adapters for braille displays',
      'remove it, or: systemctl mask --now brltty-udev.service brltty.service',
    ),
  ];
}
