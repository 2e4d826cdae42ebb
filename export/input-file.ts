import { open, type FileHandle } from 'node:fs/promises';
import { SpikedError } from '../client/protocol/errors.js';

/** A file opened for reading, whose reads either fill their target or fail with one error that names the file. */
export class InputFile {
  private constructor(
    readonly path: string,
    readonly sizeBytes: number,
    private readonly handle: FileHandle,
  ) {}

  /**
   * @throws SpikedError ERR_FILE_NOT_FOUND, ERR_FILE_IO
   */
  static async open(path: string): Promise<InputFile> {
    let handle: FileHandle | undefined;
    try {
      handle = await open(path, 'r');
      const stats = await handle.stat();
      if (!stats.isFile()) throw new SpikedError('ERR_FILE_IO', `${path}: expected a regular file`);
      return new InputFile(path, stats.size, handle);
    } catch (error) {
      await handle?.close();
      throw fileError(path, error);
    }
  }

  /** Fills `target` with the bytes at `position`. */
  async readInto(target: Uint8Array, position: number): Promise<void> {
    if (!Number.isSafeInteger(position) || position < 0 || position + target.length > this.sizeBytes)
      throw this.invalid(
        `expected ${target.length} bytes at ${position}, found a file of ${this.sizeBytes} bytes`,
      );
    for (let done = 0; done < target.length;) {
      const length = Math.min(target.length - done, maxReadBytes);
      let bytesRead;
      try {
        ({ bytesRead } = await this.handle.read(target, done, length, position + done));
      } catch (error) {
        throw fileError(this.path, error);
      }
      if (bytesRead === 0)
        throw this.invalid(`expected ${target.length} bytes at ${position}, found the file cut short`);
      done += bytesRead;
    }
  }

  async read(position: number, length: number): Promise<Buffer> {
    const target = Buffer.allocUnsafe(length);
    await this.readInto(target, position);
    return target;
  }

  /** Consecutive blocks of [start, end). */
  async *blocks(start: number, end: number): AsyncGenerator<Buffer> {
    for (let position = start; position < end; position += blockBytes)
      yield await this.read(position, Math.min(blockBytes, end - position));
  }

  invalid(found: string): SpikedError {
    return new SpikedError('ERR_CHECKPOINT_INVALID', `${this.path}: ${found}`);
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}

const maxReadBytes = 1 << 30; // one read(2) moves at most 2 GiB
const blockBytes = 1 << 14;

/** The error table's form of a failed file operation. */
export function fileError(path: string, error: unknown): SpikedError {
  if (error instanceof SpikedError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return new SpikedError('ERR_FILE_NOT_FOUND', `${path}: no such file`);
  return new SpikedError('ERR_FILE_IO', `${path}: ${message}`);
}
