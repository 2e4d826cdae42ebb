import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { SpikedError } from '../../client/protocol/errors.js';
import type { Frame, Sample } from '../meters/meter.js';
import { readHeader } from './header-file.js';
import type { TraceHeader } from './header.js';
import { countLines, lastLineEnd, lineBatches, lowerBound, readAt } from './lines.js';
import { AscendingTimes } from './order.js';
import {
  framesName,
  framesTitle,
  LineFault,
  parseFrame,
  parseSample,
  parseTime,
  samplesName,
  samplesTitle,
} from './sample-line.js';

/** A trace as it was when it was opened; what is appended later is not seen. */
export interface Trace {
  readonly dir: string;
  readonly header: TraceHeader;
  /** A last line that was cut off, by a power cut or a full disk, and is left out: one sentence. */
  readonly torn: string | null;
  /**
   * The samples with `from` <= t <= `to`, ascending; all of them without limits. Memory does not grow with the trace, and a range is
   * found without reading what is before it. Each call is a reading of its own.
   *
   * @throws SpikedError ERR_TRACE_INVALID with file and line: malformed, back in time, or two readings at one time
   */
  samples(fromNs?: bigint, toNs?: bigint): AsyncGenerator<Sample>;
  /** The raw frames in the same way. Equal times are allowed. */
  frames(fromNs?: bigint, toNs?: bigint): AsyncGenerator<Frame>;
}

/**
 * Opens the trace in a folder.
 *
 * @throws SpikedError ERR_FILE_NOT_FOUND there is none; ERR_TRACE_INVALID its header, or the first line of a file, is not a trace's
 */
export async function openTrace(dir: string): Promise<Trace> {
  const header = await readHeader(dir);
  const samples = await extentOf(join(dir, samplesName), samplesTitle);
  const frames = await extentOf(join(dir, framesName), framesTitle);
  return {
    dir,
    header,
    torn: [samples.torn, frames.torn].filter((text) => text !== null).join(' ') || null,
    async *samples(fromNs, toNs) {
      const order = new AscendingTimes();
      yield* rows(samples, fromNs, toNs, parseSample, (sample) => order.isNew(sample));
    },
    async *frames(fromNs, toNs) {
      let last = 0n;
      yield* rows(frames, fromNs, toNs, parseFrame, ({ tNs }) => {
        if (tNs < last) throw new LineFault(`expected a time not before ${last}, found ${tNs}`);
        last = tNs;
        return true;
      });
    },
  };
}

/** The samples of a range as an array: for a window, not for a day. */
export async function collectSamples(trace: Trace, fromNs?: bigint, toNs?: bigint): Promise<Sample[]> {
  const found: Sample[] = [];
  for await (const sample of trace.samples(fromNs, toNs)) found.push(sample);
  return found;
}

/** Where the whole lines of a file are. */
interface Extent {
  readonly path: string;
  /** Behind the title. */
  readonly begin: number;
  readonly end: number;
  readonly torn: string | null;
}

async function extentOf(path: string, title: string): Promise<Extent> {
  const file = await openFile(path);
  try {
    const { size } = await file.stat();
    const end = await lastLineEnd(file, 0, size);
    // A power cut right after the start: not even the title is whole.
    if (end === 0) {
      const found = (await readAt(file, 0, Math.min(size, 80))).toString('latin1');
      if (!title.startsWith(found.replace(/\0+$/, ''))) throw wrongTitle(path, title, found);
      return { path, begin: 0, end: 0, torn: size === 0 ? null : dropped(path, size) };
    }
    const first = (await readAt(file, 0, Math.min(end, title.length + 1))).toString('latin1');
    if (first !== `${title}\n`) throw wrongTitle(path, title, first.split('\n')[0] ?? '');
    return { path, begin: title.length + 1, end, torn: size === end ? null : dropped(path, size - end) };
  } finally {
    await file.close();
  }
}

async function openFile(path: string): Promise<FileHandle> {
  return open(path, 'r').catch((error: unknown) => {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT'
      ? new SpikedError('ERR_FILE_NOT_FOUND', `${path}: expected this file of a trace, found none`)
      : error;
  });
}

const dropped = (path: string, bytes: number): string =>
  `${path}: the last line was cut off; its ${bytes} bytes are left out.`;

const wrongTitle = (path: string, title: string, found: string): SpikedError =>
  new SpikedError('ERR_TRACE_INVALID', `${path}:1: expected "${title}", found "${found.slice(0, 80)}"`);

async function* rows<Row extends { readonly tNs: bigint }>(
  { path, begin, end }: Extent,
  fromNs: bigint | undefined,
  toNs: bigint | undefined,
  parse: (line: string) => Row,
  isNew: (row: Row) => boolean,
): AsyncGenerator<Row> {
  const file = await openFile(path);
  try {
    const timeOf = (line: string): bigint => parseTime(line.slice(0, line.indexOf(',')));
    const start =
      fromNs === undefined
        ? begin
        : await lowerBound(file, path, begin, end, (line) => timeOf(line) < fromNs).catch(
            (error: unknown) => {
              throw error instanceof LineFault ? invalid(`${path}: ${error.message}`) : error;
            },
          );
    let line = 0;
    for await (const batch of lineBatches(file, path, start, end))
      for (const text of batch) {
        line++;
        let row: Row;
        try {
          row = parse(text);
          if (toNs !== undefined && row.tNs > toNs) return;
          if (!isNew(row)) continue;
        } catch (error) {
          if (!(error instanceof LineFault)) throw error;
          throw invalid(`${path}:${(await countLines(file, start)) + line}: ${error.message}`);
        }
        yield row;
      }
  } finally {
    await file.close();
  }
}

const invalid = (text: string): SpikedError => new SpikedError('ERR_TRACE_INVALID', text);
