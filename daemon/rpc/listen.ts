import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, lstat, open, rename, unlink, type FileHandle } from 'node:fs/promises';
import net from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import { checkSocketPath, SpikedError } from '../../client/protocol/index.js';
import type { PeerCredentials } from './peer.js';
import { probe } from './probe.js';

export interface Listening {
  server: net.Server;
  path: string;
  /** Stops accepting and removes the path if it is still ours. */
  close(): Promise<void>;
}

/** rw for owner and group: connecting takes write permission. */
const umaskOfSocket = 0o117;
const attempts = 5;

/**
 * Listens at a Unix socket path, as its only owner.
 *
 * The socket is made under a hidden name in the same folder and only then linked to its path. link() never replaces: of two
 * daemons one wins, and whoever can see the path finds a listener with the right mode behind it. A stale path (nobody answers)
 * is first moved aside and looked at again, so that a socket which another daemon put there meanwhile is given back.
 *
 * @param accept  gets every connection, also one that comes before this function has returned
 * @throws SpikedError ERR_SOCKET_IN_USE, ERR_SOCKET_PATH
 */
export async function listen(
  socketPath: string,
  credentials: PeerCredentials,
  accept: (socket: net.Socket) => void,
): Promise<Listening> {
  checkSocketPath(socketPath);
  const path = resolve(socketPath);
  checkSocketPath(path);
  const server = net.createServer({ allowHalfOpen: true }, accept);
  const hidden = join(dirname(path), `.${randomBytes(6).toString('hex')}.spiked`);
  await bind(server, path, basename(hidden));
  try {
    await publish(hidden, path, credentials);
  } catch (error) {
    server.close();
    throw error;
  } finally {
    await unlink(hidden).catch(() => undefined);
  }
  const own = await lstat(path, { bigint: true });
  const close = async (): Promise<void> => {
    server.close();
    const now = await lstat(path, { bigint: true }).catch(() => null);
    if (now && same(now, own)) await unlink(path).catch(() => undefined);
  };
  return { server, path, close };
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
      const before = process.umask(umaskOfSocket);
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
  const aside = join(dirname(path), `.${randomBytes(6).toString('hex')}.stale`);
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
