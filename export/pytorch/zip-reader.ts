import { Readable } from 'node:stream';
import { RandomAccessReader } from 'yauzl';
import type { InputFile } from '../input-file.js';

/**
 * yauzl's view of a file. Its own reader hands offsets from the archive straight to `fs.read`, which throws outside any
 * callback when a hostile archive declares one past 2^53; this one turns every bad range into an error of the call.
 */
export class ZipReader extends RandomAccessReader {
  constructor(private readonly file: InputFile) {
    super();
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null, bytesRead?: number) => void,
  ): void {
    this.file.readInto(buffer.subarray(offset, offset + length), position).then(
      () => callback(null, length),
      (error: unknown) => callback(error as Error),
    );
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.file.blocks(start, end));
  }
}
