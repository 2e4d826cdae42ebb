import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SpikedError } from '../../client/protocol/errors.js';
import { lineBatches } from './lines.js';
import { LineFault, parseTime } from './sample-line.js';

const title = 'seq,t_ns';

/**
 * Writes when each token of a run was complete: `seq,t_ns`, seq from 0. The file appears whole and synced, or not at all.
 *
 * @param times  ns of CLOCK_MONOTONIC, none before the one before it
 * @throws SpikedError ERR_INVALID_ARGUMENT a time before the one before it; then there is no file
 */
export async function writeTokens(
  path: string,
  times: Iterable<bigint> | AsyncIterable<bigint>,
): Promise<void> {
  const draft = await open(`${path}.new`, 'w');
  try {
    let text = `${title}\n`;
    let seq = 0;
    let last = 0n;
    for await (const tNs of times) {
      if (tNs < last)
        throw new SpikedError(
          'ERR_INVALID_ARGUMENT',
          `${path}: token ${seq}: expected a time not before ${last}, found ${tNs}`,
        );
      last = tNs;
      text += `${seq++},${tNs}\n`;
      if (text.length >= 1 << 16) {
        await draft.writeFile(text);
        text = '';
      }
    }
    await draft.writeFile(text);
    await draft.sync();
  } catch (error) {
    await draft.close();
    throw error;
  }
  await draft.close();
  await rename(`${path}.new`, path);
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * The completion times of a run's tokens, in order, ns of CLOCK_MONOTONIC. Memory does not grow with their number.
 *
 * @throws SpikedError ERR_FILE_NOT_FOUND; ERR_TRACE_INVALID with file and line: another title, a seq that is not one more than the one
 *   before (the first is 0), a time before the one before it, a last line without its end (it may be cut off)
 */
export async function* readTokens(path: string): AsyncGenerator<bigint> {
  const file = await open(path, 'r').catch((error: unknown) => {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT'
      ? new SpikedError('ERR_FILE_NOT_FOUND', `${path}: expected a file of token times, found none`)
      : error;
  });
  try {
    const { size } = await file.stat();
    const end = Buffer.alloc(1);
    if (size > 0) await file.read(end, 0, 1, size - 1);
    let line = 0;
    let last = 0n;
    for await (const batch of lineBatches(file, path, 0, size))
      for (const text of batch) {
        line++;
        try {
          if (line === 1) {
            if (text !== title) throw new LineFault(`expected "${title}", found "${text.slice(0, 40)}"`);
            continue;
          }
          last = parseToken(text, line - 2, last);
        } catch (error) {
          if (error instanceof LineFault) throw invalid(`${path}:${line}: ${error.message}`);
          throw error;
        }
        yield last;
      }
    if (line === 0) throw invalid(`${path}:1: expected "${title}", found an empty file`);
    if (end[0] !== 10)
      throw invalid(`${path}:${line}: expected a line end, found a line that may be cut off`);
  } finally {
    await file.close();
  }
}

/** The same, as an array. */
export async function collectTokens(path: string): Promise<bigint[]> {
  const times: bigint[] = [];
  for await (const tNs of readTokens(path)) times.push(tNs);
  return times;
}

function parseToken(text: string, seq: number, last: bigint): bigint {
  const cells = text.split(',');
  if (cells.length !== 2) throw new LineFault(`expected 2 fields (${title}), found ${cells.length}`);
  if (cells[0] !== String(seq))
    throw new LineFault(`seq: expected ${seq}, found "${cells[0]?.slice(0, 40) ?? ''}"`);
  const tNs = parseTime(cells[1] ?? '');
  if (tNs < last) throw new LineFault(`t_ns: expected a time not before ${last}, found ${tNs}`);
  return tNs;
}

const invalid = (text: string): SpikedError => new SpikedError('ERR_TRACE_INVALID', text);
