import { randomBytes } from 'node:crypto';
import { unlinkSync } from 'node:fs';
import { open, rename, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SpikedError } from '../client/protocol/errors.js';
import { fileError } from './input-file.js';

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * A file that appears under its name only when it is whole: written under a temporary name in the same directory,
 * synced, then renamed. A failure or a signal to stop removes it; `cancelled` tells the writer.
 */
export class OutputFile {
  readonly cancelled: AbortSignal;
  private readonly stop = new AbortController();
  private readonly onSignal = (signal: NodeJS.Signals): void => this.interrupt(signal);

  private constructor(
    readonly path: string,
    private readonly temporaryPath: string,
    private readonly handle: FileHandle,
  ) {
    this.cancelled = this.stop.signal;
    for (const signal of stopSignals) process.on(signal, this.onSignal);
  }

  /** Runs `write` on a new file and gives it its name when that succeeds. */
  static async write<T>(path: string, write: (file: OutputFile) => Promise<T>): Promise<T> {
    const file = await OutputFile.create(path);
    try {
      const result = await write(file);
      await file.commit();
      return result;
    } catch (error) {
      file.discard();
      throw fileError(path, error);
    } finally {
      await file.release();
    }
  }

  /** Writes all of `bytes` at `position`. @throws SpikedError ERR_CANCELLED after a signal, ERR_FILE_IO */
  async writeAt(bytes: Uint8Array, position: number): Promise<void> {
    if (this.cancelled.aborted)
      throw new SpikedError('ERR_CANCELLED', `${this.path}: writing was interrupted`);
    for (let done = 0; done < bytes.length;) {
      const length = Math.min(bytes.length - done, maxWriteBytes);
      done += (await this.handle.write(bytes, done, length, position + done)).bytesWritten;
    }
  }

  async sync(): Promise<void> {
    await this.handle.sync();
  }

  private static async create(path: string): Promise<OutputFile> {
    const folder = dirname(path);
    const found = await stat(folder).catch((error: unknown) => {
      throw fileError(folder, error);
    });
    if (!found.isDirectory()) throw new SpikedError('ERR_FILE_IO', `${folder}: expected a directory`);
    const temporaryPath = join(folder, `.${basename(path)}.${randomBytes(4).toString('hex')}.tmp`);
    const handle = await open(temporaryPath, 'wx', 0o644).catch((error: unknown) => {
      throw fileError(temporaryPath, error);
    });
    return new OutputFile(path, temporaryPath, handle);
  }

  private async commit(): Promise<void> {
    await this.handle.sync();
    await rename(this.temporaryPath, this.path);
    // The new name is safe only once the directory is on the disk too.
    const folder = await open(dirname(this.path), 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  private discard(): void {
    try {
      unlinkSync(this.temporaryPath);
    } catch {
      // already gone: a signal came first, or it has its final name
    }
  }

  private async release(): Promise<void> {
    for (const signal of stopSignals) process.off(signal, this.onSignal);
    await this.handle.close();
  }

  private interrupt(signal: NodeJS.Signals): void {
    this.discard();
    this.stop.abort();
    // With nobody else listening, the signal still does what it would have done without us.
    if (process.listenerCount(signal) > 1) return;
    process.off(signal, this.onSignal);
    process.kill(process.pid, signal);
  }
}

const maxWriteBytes = 1 << 30; // one write(2) moves at most 2 GiB
