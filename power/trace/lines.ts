import type { FileHandle } from 'node:fs/promises';
import { SpikedError } from '../../client/protocol/errors.js';

const chunkBytes = 1 << 16;
/** No line of ours comes near it; a file without line ends must not fill the memory. */
const longestLine = 1 << 16;

/**
 * The lines between two offsets of a file, many at a time, without their line ends. A last line without one comes as well.
 *
 * @throws SpikedError ERR_TRACE_INVALID when a line is longer than 64 KiB
 */
export async function* lineBatches(
  file: FileHandle,
  path: string,
  begin: number,
  end: number,
): AsyncGenerator<string[]> {
  let rest: Buffer = Buffer.alloc(0);
  for (let at = begin; at < end;) {
    const chunk = await readAt(file, at, Math.min(chunkBytes, end - at));
    if (chunk.length === 0) break;
    at += chunk.length;
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const last = bytes.lastIndexOf(10);
    rest = bytes.subarray(last + 1);
    if (rest.length > longestLine) throw tooLong(path);
    if (last >= 0) yield bytes.toString('utf8', 0, last).split('\n');
  }
  if (rest.length > 0) yield [rest.toString('utf8')];
}

export async function readAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  const { bytesRead } = await file.read(buffer, 0, length, at);
  return buffer.subarray(0, bytesRead);
}

/** The offset behind the last line end before `end`; `begin` when there is none. */
export async function lastLineEnd(file: FileHandle, begin: number, end: number): Promise<number> {
  for (let high = end; high > begin;) {
    const low = Math.max(begin, high - chunkBytes);
    const found = (await readAt(file, low, high - low)).lastIndexOf(10);
    if (found >= 0) return low + found + 1;
    high = low;
  }
  return begin;
}

/** Lines that end before an offset. */
export async function countLines(file: FileHandle, end: number): Promise<number> {
  let lines = 0;
  for (let at = 0; at < end;) {
    const chunk = await readAt(file, at, Math.min(chunkBytes, end - at));
    if (chunk.length === 0) break;
    at += chunk.length;
    for (let i = chunk.indexOf(10); i >= 0; i = chunk.indexOf(10, i + 1)) lines++;
  }
  return lines;
}

/**
 * The offset of the first line that is not `before`, or `end`: a binary search over whole lines, which must be in order.
 *
 * @param begin  start of a line
 * @param end    behind a line end
 */
export async function lowerBound(
  file: FileHandle,
  path: string,
  begin: number,
  end: number,
  before: (line: string) => boolean,
): Promise<number> {
  let low = begin;
  let high = end;
  while (high - low > 2 * longestLine) {
    const middle = Math.floor((low + high) / 2);
    const bytes = await readAt(file, middle, longestLine);
    const start = bytes.indexOf(10) + 1;
    const stop = bytes.indexOf(10, start);
    if (start === 0 || stop < 0) throw tooLong(path);
    if (before(bytes.toString('utf8', start, stop))) low = middle + start;
    else high = middle + start;
  }
  const bytes = await readAt(file, low, high - low);
  for (let start = 0; start < bytes.length;) {
    const stop = bytes.indexOf(10, start);
    if (stop < 0) throw tooLong(path);
    if (!before(bytes.toString('utf8', start, stop))) return low + start;
    start = stop + 1;
  }
  return high;
}

function tooLong(path: string): SpikedError {
  return new SpikedError(
    'ERR_TRACE_INVALID',
    `${path}: expected lines of at most ${longestLine / 1024} KiB, found a longer one`,
  );
}
