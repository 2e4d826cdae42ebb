import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { SpikedError } from '../../client/protocol/index.js';
import type { Addon } from '../../native/host/index.js';

const patienceMs = 5_000;
const retryMs = 10;

/**
 * Does `work` while no other daemon changes the same folder. The lock is the folder's own (flock), so that it leaves no file behind and ends
 * with whoever held it.
 *
 * @throws SpikedError ERR_SOCKET_PATH when there is no such folder, or somebody keeps it locked
 */
export async function withFolderLock<T>(
  path: string,
  tryLock: Addon['tryLock'],
  work: () => Promise<T>,
): Promise<T> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY).catch((error: unknown) => {
    const why = (error as Error).message;
    throw new SpikedError('ERR_SOCKET_PATH', `${path}: expected a folder for the socket: ${why}`);
  });
  try {
    const endMs = performance.now() + patienceMs;
    while (!tryLock(folder.fd)) {
      if (performance.now() > endMs) {
        throw new SpikedError(
          'ERR_SOCKET_PATH',
          `${path}: expected to lock it, found it locked by another process`,
        );
      }
      await sleep(retryMs);
    }
    return await work();
  } finally {
    await folder.close();
  }
}
