import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, chown, link, lstat, open, readdir, rename, unlink, type FileHandle } from 'node:fs/promises';
import net from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import { checkSocketPath, SpikedError } from '../../client/protocol/index.js';
import type { Addon } from '../../native/host/index.js';
import { withFolderLock } from './folder-lock.js';
import type { PeerCredentials } from './peer.js';
import { probe } from './probe.js';

export interface Listening {
  server: net.Server;
  path: string;
  /** Stops accepting and removes the path if it is still ours. */
  close(): Promise<void>;
}

export interface SocketRules {
  path: string;
  mode: number;
  /** The process's own when absent. */
  group: { gid: number; setting: string } | undefined;
}

type Calls = Pick<Addon, 'peerCredentials' | 'tryLock'>;
type Accept = (socket: net.Socket) => void;

/** Born so, the socket lets nobody in before it has its mode and group. */
const closed = 0o777;
const attempts = 5;

/**
 * Listens at a Unix socket path, as its only owner.
 *
 * The socket is made under a hidden name in the same folder, gets mode and group there, and only then is linked to its path. link() never
 * replaces: of two daemons one wins, and whoever can see the path finds a listener with the right mode behind it. A stale path (nobody
 * answers) is first moved aside and looked at again, so that a socket which another program put there meanwhile is given back. Daemons
 * do all this one after the other, since what one moves aside for a moment another could take for a free path.
 *
 * @param accept  gets every connection, also one that comes before this function has returned
 * @throws SpikedError ERR_SOCKET_IN_USE, ERR_SOCKET_PATH, ERR_CONFIG_INVALID when the system does not let this user give the socket that group
 */
export async function listen(rules: SocketRules, calls: Calls, accept: Accept): Promise<Listening> {
  checkSocketPath(rules.path);
  const path = resolve(rules.path);
  checkSocketPath(path);
  const server = net.createServer({ allowHalfOpen: true }, accept);
  const hidden = join(dirname(path), hiddenName('spiked'));
  const alone = <T>(work: () => Promise<T>): Promise<T> => withFolderLock(dirname(path), calls.tryLock, work);
  const own = await alone(async () => {
    await sweep(dirname(path));
    try {
      await bind(server, path, basename(hidden));
      await dress(hidden, rules);
      await publish(hidden, path, calls.peerCredentials);
      return await lstat(path, { bigint: true });
    } catch (error) {
      server.close();
      throw error;
    } finally {
      await unlink(hidden).catch(() => undefined);
    }
  });
  const remove = async (): Promise<void> => {
    const now = await lstat(path, { bigint: true });
    if (same(now, own)) await unlink(path);
  };
  const close = async (): Promise<void> => {
    // Whoever comes later finds a stale path at worst.
    await alone(remove).catch(() => undefined);
    await acceptWaiting(server);
    server.close();
  };
  return { server, path, close };
}

/**
 * Whoever has connected already is accepted, and is then told that the daemon stops; closing the listener would cut them off. Node accepts
 * one connection a turn of its loop.
 */
async function acceptWaiting(server: net.Server): Promise<void> {
  let last = 0;
  let accepted = 1;
  const count = (): void => {
    accepted++;
  };
  server.on('connection', count);
  while (accepted > last) {
    last = accepted;
    // Two, since the first may come in the turn that is under way.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  }
  server.off('connection', count);
}

/** Serves a socket that the service manager made and keeps: its path, mode and group are not ours to touch. */
export async function adopt(fd: number, path: string, accept: Accept): Promise<Listening> {
  const server = net.createServer({ allowHalfOpen: true }, accept);
  await new Promise<void>((done, fail) => {
    server.once('error', fail);
    server.listen({ fd }, () => {
      server.off('error', fail);
      done();
    });
  });
  return {
    server,
    path,
    async close(): Promise<void> {
      server.close();
    },
  };
}

function hiddenName(end: 'spiked' | 'stale'): string {
  return `.${randomBytes(6).toString('hex')}.${end}`;
}

/** Hidden names exist under the folder's lock alone: one that whoever holds it finds is what a killed daemon left. */
async function sweep(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!/^\.[0-9a-f]{12}\.(spiked|stale)$/.test(name)) continue;
    const left = join(folder, name);
    const entry = await lstat(left).catch(() => null);
    if (entry?.isSocket() && entry.uid === process.geteuid?.()) await unlink(left).catch(() => undefined);
  }
}

/** Mode and group of the hidden socket. */
async function dress(hidden: string, { path, mode, group }: SocketRules): Promise<void> {
  try {
    if (group !== undefined) await chown(hidden, -1, group.gid);
    await chmod(hidden, mode);
  } catch (error) {
    const { syscall, code } = error as NodeJS.ErrnoException;
    if (syscall === 'chown' && group !== undefined) {
      throw new SpikedError(
        'ERR_CONFIG_INVALID',
        `${group.setting}: expected a group that uid ${process.geteuid?.()} is in, found ${group.gid} (${code}): add the user to it, or leave the setting out`,
        { cause: error },
      );
    }
    throw new SpikedError(
      'ERR_SOCKET_PATH',
      `${path}: cannot give the socket mode 0${mode.toString(8)}: ${text(error)}`,
      { cause: error },
    );
  }
}

/** Binds under the folder's descriptor: the hidden name may be longer than what fits into a socket address. */
async function bind(server: net.Server, path: string, name: string): Promise<void> {
  let folder: FileHandle | undefined;
  try {
    folder = await open(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
    const address = `/proc/self/fd/${folder.fd}/${name}`;
    await new Promise<void>((done, fail) => {
      server.once('error', fail);
      server.once('listening', () => {
        server.off('error', fail);
        done();
      });
      // Node binds before listen() returns, so the mask covers the socket's birth and nothing else.
      const before = process.umask(closed);
      server.listen({ path: address });
      process.umask(before);
    });
  } catch (error) {
    throw new SpikedError('ERR_SOCKET_PATH', `${path}: cannot make a socket there: ${text(error)}`, {
      cause: error,
    });
  } finally {
    await folder?.close();
  }
}

async function publish(hidden: string, path: string, credentials: PeerCredentials): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      await link(hidden, path);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
        throw new SpikedError('ERR_SOCKET_PATH', `${path}: cannot make a socket there: ${text(error)}`, {
          cause: error,
        });
      }
    }
    const found = await probe(path, credentials);
    if (found.kind === 'stale') await removeStale(path, found.entry);
  }
  throw new SpikedError(
    'ERR_SOCKET_IN_USE',
    `${path}: expected a free path, found others taking it again and again`,
  );
}

async function removeStale(path: string, stale: Entry): Promise<void> {
  const aside = join(dirname(path), hiddenName('stale'));
  try {
    await rename(path, aside);
    const moved = await lstat(aside, { bigint: true });
    // Not what was probed: somebody's new socket. It goes back, unless its place is taken already.
    if (!same(moved, stale)) await link(aside, path).catch(() => undefined);
    await unlink(aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw new SpikedError('ERR_SOCKET_PATH', `${path}: cannot remove the stale socket: ${text(error)}`, {
      cause: error,
    });
  }
}

interface Entry {
  dev: bigint;
  ino: bigint;
  mtimeNs: bigint;
}

/** Numbers of inodes are reused at once, times of modification are not; linking and renaming change neither. */
function same(a: Entry, b: Entry): boolean {
  return a.dev === b.dev && a.ino === b.ino && a.mtimeNs === b.mtimeNs;
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
