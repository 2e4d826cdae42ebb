import net from 'node:net';
import type { BigIntStats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { SpikedError } from '../../client/protocol/index.js';
import { peerOf, type PeerCredentials } from './peer.js';

/** Milliseconds for a listener to accept; one whose queue is full is alive all the same. */
const answerMs = 1_000;

/** What is at a socket path. */
export type Found = { kind: 'nothing' } | { kind: 'stale'; entry: BigIntStats };

/**
 * Looks who owns a path, by connecting to it.
 *
 * @throws SpikedError ERR_SOCKET_IN_USE naming the owner's pid, ERR_SOCKET_PATH when it is no socket or cannot be looked at
 */
export async function probe(path: string, credentials: PeerCredentials): Promise<Found> {
  const entry = await lstat(path, { bigint: true }).catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new SpikedError('ERR_SOCKET_PATH', `${path}: cannot be looked at: ${message}`);
  });
  if (!entry) return { kind: 'nothing' };
  if (!entry.isSocket()) {
    throw new SpikedError(
      'ERR_SOCKET_PATH',
      `${path}: expected nothing or a socket, found another kind of file`,
    );
  }
  return new Promise((resolve, reject) => {
    const inUse = (who: string): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(
        new SpikedError('ERR_SOCKET_IN_USE', `${path}: expected a free path, found it served by ${who}`),
      );
    };
    const socket = net.connect({ path });
    const timer = setTimeout(() => inUse('a process that does not answer'), answerMs);
    socket.once('connect', () => {
      const peer = peerOf(socket, credentials);
      inUse(peer ? `process ${peer.pid} (uid ${peer.uid})` : 'another process');
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      if (error.code === 'ECONNREFUSED') resolve({ kind: 'stale', entry });
      else if (error.code === 'ENOENT') resolve({ kind: 'nothing' });
      else if (error.code === 'EAGAIN') inUse('a process that does not answer');
      else reject(new SpikedError('ERR_SOCKET_PATH', `${path}: cannot be probed: ${error.message}`));
    });
  });
}
