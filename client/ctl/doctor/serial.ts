import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { SerialPort } from 'serialport';
import { joinGroup } from '../../../power/meters/serial/accounts.js';
import { holders } from '../../../power/meters/serial/port-holders.js';
import { ok, warn, type Check } from './check.js';

export interface Port {
  path: string;
  maker: string | undefined;
}

/** Ports of adapters, as meters have them; a board's own UARTs are no business of ours. */
export async function listPorts(): Promise<Port[]> {
  const names = (await readdir('/dev')).filter((name) => /^tty(USB|ACM|CH|XRUSB)/.test(name));
  // Knows who made them by udevadm, which a small system lacks.
  const known = names.length === 0 ? [] : await SerialPort.list().catch(() => []);
  return names.sort().map((name) => {
    const path = `/dev/${name}`;
    return { path, maker: known.find((port) => port.path === path)?.manufacturer };
  });
}

export async function checkSerial(
  ports: readonly Port[],
  daemonPid: number | undefined,
  proc = '/proc',
): Promise<Check[]> {
  if (ports.length === 0) return [ok('serial', 'no port of an adapter: no wall meter')];
  return Promise.all(ports.map((port) => checkPort(port, daemonPid, proc)));
}

async function checkPort({ path, maker }: Port, daemonPid: number | undefined, proc: string): Promise<Check> {
  const text = maker === undefined ? path : `${path} (${maker})`;
  const mayUse = await access(path, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!mayUse) return warn('serial', `${text}: this user may not use it`, joinGroup((await stat(path)).gid));
  const others = (await holders(path, proc)).filter(({ pid }) => pid !== daemonPid && pid !== process.pid);
  if (others.length === 0) return ok('serial', `${text}: free, or the daemon's`);
  const who = others.map(({ pid, name }) => `${name} (pid ${pid})`).join(', ');
  return warn('serial', `${text}: open in ${who}, which takes bytes away from a meter`, `end ${who}`);
}
