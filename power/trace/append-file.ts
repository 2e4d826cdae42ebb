import { open, type FileHandle } from 'node:fs/promises';

/**
 * Lines appended to a new file, in order. After a write that fails the file is cut back to the last line that is whole, and nothing
 * more is written.
 */
export class AppendFile {
  /** Of whole lines, in the file. */
  #bytes = 0;
  #lines = 0;
  #dirty = false;

  private constructor(
    readonly path: string,
    private readonly file: FileHandle,
  ) {}

  /** Creates the file; it must not exist. */
  static async create(path: string): Promise<AppendFile> {
    return new AppendFile(path, await open(path, 'wx'));
  }

  /** Lines that are in the file. */
  get lines(): number {
    return this.#lines;
  }

  /** Writes whole lines. Throws what the system says, with the file cut back. */
  async append(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    let written = 0;
    this.#dirty = true;
    try {
      while (written < bytes.length)
        written += (await this.file.write(bytes, written, bytes.length - written, this.#bytes + written))
          .bytesWritten;
    } catch (error) {
      const inFile = bytes.subarray(0, written);
      this.#keep(inFile.subarray(0, inFile.lastIndexOf(10) + 1));
      await this.file.truncate(this.#bytes).catch(() => undefined);
      throw error;
    }
    this.#keep(bytes);
  }

  #keep(bytes: Buffer): void {
    this.#bytes += bytes.length;
    for (let i = bytes.indexOf(10); i >= 0; i = bytes.indexOf(10, i + 1)) this.#lines++;
  }

  /** Returns when everything is on the disk. */
  async sync(): Promise<void> {
    if (!this.#dirty) return;
    this.#dirty = false;
    await this.file.datasync();
  }

  close(): Promise<void> {
    return this.file.close();
  }
}
