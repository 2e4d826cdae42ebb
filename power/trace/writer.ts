import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SpikedError } from '../../client/protocol/errors.js';
import type { Frame, MeterSink, Sample } from '../meters/meter.js';
import { AppendFile } from './append-file.js';
import { readClocks } from './clocks.js';
import { headerName, writeHeader } from './header-file.js';
import type { Clocks, TraceHeader } from './header.js';
import { frameLine, framesName, framesTitle, sampleLine, samplesName, samplesTitle } from './sample-line.js';

export interface TraceOptions {
  /** Told once when a write failed; the trace takes nothing more from then on. */
  readonly onFailure?: (error: SpikedError) => void;
  /** What is buffered is written after so long at the latest … */
  readonly flushMs?: number;
  /** … and what is written is on the disk after so long: what a power cut costs. */
  readonly syncMs?: number;
}

/** Buffered text beyond which the disk is called too slow. */
const mostPending = 16 << 20;
/** Buffered text that is written at once. */
const block = 1 << 16;

/**
 * Starts a trace in a folder, which is made when absent and must not hold one. The header is on the disk when this returns; the two
 * CSV files grow by appending.
 *
 * @throws SpikedError ERR_INVALID_ARGUMENT the folder holds a trace; ERR_FILE_IO it cannot be written
 */
export async function createTrace(
  dir: string,
  header: TraceHeader,
  options: TraceOptions = {},
): Promise<TraceWriter> {
  const made: AppendFile[] = [];
  try {
    await mkdir(dir, { recursive: true });
    // Created, never opened: this is what keeps two recordings out of one folder.
    const samples = await AppendFile.create(join(dir, samplesName));
    made.push(samples);
    const frames = await AppendFile.create(join(dir, framesName));
    made.push(frames);
    await samples.append(`${samplesTitle}\n`);
    await frames.append(`${framesTitle}\n`);
    await Promise.all([samples.sync(), frames.sync()]);
    await writeHeader(dir, header);
    return new TraceWriter(dir, header, samples, frames, options);
  } catch (error) {
    for (const file of made) {
      await file.close();
      await rm(file.path, { force: true });
    }
    const { code, path } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && made.length < 2)
      throw new SpikedError(
        'ERR_INVALID_ARGUMENT',
        `${dir}: expected a folder without a trace, found ${path ?? 'one'}; choose another folder or remove the trace`,
      );
    throw fileError(dir, error);
  }
}

/** A trace that is being written; a sink for a meter. Made by `createTrace`. */
export class TraceWriter implements MeterSink {
  #header: TraceHeader;
  #pendingSamples = '';
  #pendingFrames = '';
  #lastNs = -1n;
  #timer: NodeJS.Timeout | undefined;
  #syncedAt = performance.now();
  /** Writes, one after the other; never rejects. */
  #work: Promise<void> = Promise.resolve();
  #failure: SpikedError | null = null;
  #closed = false;

  constructor(
    readonly dir: string,
    header: TraceHeader,
    private readonly samples: AppendFile,
    private readonly frames: AppendFile,
    private readonly options: TraceOptions,
  ) {
    this.#header = header;
  }

  get header(): TraceHeader {
    return this.#header;
  }

  /** What ended the recording before `close`; null while all is well. */
  get failure(): SpikedError | null {
    return this.#failure;
  }

  /** Samples that are in the file. */
  get written(): number {
    return Math.max(0, this.samples.lines - 1);
  }

  /** Takes a sample; returns at once. Its time must be after that of the one before. */
  sample(sample: Sample): void {
    if (sample.tNs <= this.#lastNs) {
      const order = `expected a sample after ${this.#lastNs}, found one at ${sample.tNs}`;
      this.#fail(new SpikedError('ERR_TRACE_INVALID', `${this.samples.path}: ${order}`));
    }
    if (this.#failure !== null || this.#closed) return;
    this.#lastNs = sample.tNs;
    this.#pendingSamples += sampleLine(sample);
    this.#schedule();
  }

  /** Takes a raw frame; returns at once. */
  frame(frame: Frame): void {
    if (this.#failure !== null || this.#closed) return;
    this.#pendingFrames += frameLine(frame);
    this.#schedule();
  }

  #schedule(): void {
    const pending = this.#pendingSamples.length + this.#pendingFrames.length;
    if (pending > mostPending)
      this.#fail(
        new SpikedError(
          'ERR_FILE_IO',
          `${this.dir}: expected the disk to take samples as they come, found ${pending} bytes waiting`,
        ),
      );
    else if (pending >= block) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), this.options.flushMs ?? 250);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const due = performance.now() - this.#syncedAt >= (this.options.syncMs ?? 5000);
    void this.#enqueue(async () => {
      await this.#writePending();
      if (due) await this.#syncFiles();
    });
  }

  async #writePending(): Promise<void> {
    const [samples, frames] = [this.#pendingSamples, this.#pendingFrames];
    this.#pendingSamples = this.#pendingFrames = '';
    if (samples !== '') await this.samples.append(samples);
    if (frames !== '') await this.frames.append(frames);
  }

  async #syncFiles(): Promise<void> {
    this.#syncedAt = performance.now();
    await Promise.all([this.samples.sync(), this.frames.sync()]);
  }

  /** After what is under way; nothing after a failure. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(async () => {
      if (this.#failure !== null) return;
      await work().catch((error: unknown) => {
        this.#fail(this.#describe(error));
      });
    });
    return this.#work;
  }

  #describe(error: unknown): SpikedError {
    const { message } = fileError(this.dir, error);
    return new SpikedError(
      'ERR_FILE_IO',
      `${message}; the recording ended there, ${this.written} samples are kept`,
      { cause: error },
    );
  }

  #fail(error: SpikedError): void {
    if (this.#failure !== null) return;
    this.#failure = error;
    this.#pendingSamples = this.#pendingFrames = '';
    this.options.onFailure?.(error);
  }

  /** Puts what is known by now of the meter into the header on the disk. */
  async describe(change: Partial<Pick<TraceHeader, 'meter' | 'traits'>>): Promise<void> {
    this.#header = { ...this.#header, ...change };
    await this.#enqueue(() => writeHeader(this.dir, this.#header));
    if (this.#failure !== null) throw this.#failure;
  }

  /**
   * Returns when everything taken so far was given to the system: for whoever writes faster than the disk.
   *
   * @throws SpikedError ERR_FILE_IO a write failed, now or earlier
   */
  async drained(): Promise<void> {
    await this.#enqueue(() => this.#writePending());
    if (this.#failure !== null) throw this.#failure;
  }

  /**
   * Returns when everything taken so far is on the disk.
   *
   * @throws SpikedError ERR_FILE_IO a write failed, now or earlier
   */
  async sync(): Promise<void> {
    await this.#enqueue(async () => {
      await this.#writePending();
      await this.#syncFiles();
    });
    if (this.#failure !== null) throw this.#failure;
  }

  /**
   * Writes what is left, then the header with the clocks at the end, all synced. A trace whose write failed, or whose samples have
   * times of their own (an import), has no end. May be called again.
   *
   * @throws SpikedError ERR_FILE_IO a write failed, now or earlier; the files are closed all the same
   */
  async close(end: Clocks | null = this.#header.anchor && readClocks()): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      clearTimeout(this.#timer);
      await this.#enqueue(async () => {
        await this.#writePending();
        await this.#syncFiles();
        if (end !== null) this.#header = { ...this.#header, end };
        await writeHeader(this.dir, this.#header);
      });
      await Promise.all([this.samples.close(), this.frames.close()]);
    }
    if (this.#failure !== null) throw this.#failure;
  }

  /** Closes and removes the trace: it never came to be one. The folder stays. */
  async discard(): Promise<void> {
    await this.close().catch(() => undefined);
    for (const name of [samplesName, framesName, headerName]) await rm(join(this.dir, name), { force: true });
  }
}

function fileError(path: string, error: unknown): SpikedError {
  const { code, message } = error as NodeJS.ErrnoException;
  const text =
    code === 'ENOSPC'
      ? 'no space left on the device'
      : code === 'EFBIG'
        ? 'a limit on the size of files'
        : code === 'EDQUOT'
          ? 'the quota used up'
          : message;
  return new SpikedError('ERR_FILE_IO', `${path}: expected to write the trace, found ${text}`, {
    cause: error,
  });
}
