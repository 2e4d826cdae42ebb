import { closeSync, constants, openSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import { addon } from '../../../native/host/index.js';
import type { Line } from '../../../power/simulator/line.js';

export interface Pty extends Line {
  /** What the other end opens: `/dev/pts/7`. */
  readonly path: string;
}

/**
 * A new pseudo-terminal with the meter at its master.
 *
 * @param link  a symbolic link to its path, replaced if there is one, removed at the hang-up
 * @throws SpikedError ERR_FILE_IO when the system has no pseudo-terminal left
 */
export function openPty(link?: string): Pty {
  const { fd, path } = addon().openPty();
  // Held open, or reading would fail whenever nobody else has it open.
  const slave = openSync(path, constants.O_RDWR | constants.O_NOCTTY);
  const stream = new ReadStream(fd);
  if (link !== undefined) {
    const fresh = `${link}.${String(process.pid)}`;
    symlinkSync(path, fresh);
    renameSync(fresh, link);
  }
  return {
    path,
    stream,
    baud: () => (stream.destroyed ? null : addon().ptyBaud(fd)),
    hangUp: () => {
      if (link !== undefined) rmSync(link, { force: true });
      stream.destroy();
      closeSync(slave);
    },
  };
}
