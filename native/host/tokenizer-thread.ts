import { Worker } from 'node:worker_threads';
import { SpikedError } from '../../client/protocol/errors.js';
import type { TokenizerReply, TokenizerRequest } from './tokenizer-messages.js';

interface Pending {
  resolve(reply: TokenizerReply): void;
  reject(error: Error): void;
}

/** A model that has not loaded by then is taken for a broken one: real ones take a quarter of a second. */
const loadTimeoutMs = 60_000;

/** What a tokenizer's thread runs. */
export interface TokenizerProgram {
  /** Module of the worker. */
  url: URL;
  /** Its workerData, also when it starts again. */
  data: unknown;
  /** What it expects, for errors. */
  expected: string;
}

/** The worker of one tokenizer. It keeps the process alive only while a call is under way. */
export class TokenizerThread {
  private worker: Worker | undefined;
  private started: Promise<TokenizerReply> | undefined;
  private readonly pending = new Map<number, Pending>();
  private lastId = 0;
  private ended: SpikedError | undefined;
  private closed = false;

  constructor(private readonly program: TokenizerProgram) {}

  /**
   * @returns what the worker has to show for it
   * @throws SpikedError ERR_TOKENIZER_INVALID when the worker does not take its data
   */
  async start(): Promise<unknown> {
    if (this.closed && this.ended !== undefined) throw this.ended;
    this.started ??= this.launch();
    return (await this.started).started;
  }

  async encode(text: Uint8Array): Promise<Int32Array> {
    await this.start();
    if (this.worker === undefined) throw this.ended ?? unexpected(); // stopped since
    const id = ++this.lastId;
    const reply = this.expect(id);
    const request: TokenizerRequest = { id, text };
    this.worker.postMessage(request);
    const { ids } = await reply;
    if (ids === undefined) throw unexpected();
    return ids;
  }

  async close(): Promise<void> {
    const worker = this.worker;
    this.closed = true;
    this.stop(new SpikedError('ERR_SESSION_CLOSED', 'tokenizer: closed while a call was under way'));
    await worker?.terminate();
  }

  private launch(): Promise<TokenizerReply> {
    const worker = new Worker(this.program.url, {
      workerData: this.program.data,
      execArgv: [], // flags of the main program can be wrong for a worker
    });
    this.worker = worker;
    worker.on('message', (reply: TokenizerReply) => {
      if (worker === this.worker) this.receive(reply);
    });
    worker.on('error', (error) => {
      if (worker === this.worker) this.crash(error.message);
    });
    worker.on('exit', () => {
      if (worker === this.worker) this.crash('its thread ended');
    });
    const timer = setTimeout(() => {
      this.crash('it did not load in time');
    }, loadTimeoutMs);
    return this.expect(0).finally(() => {
      clearTimeout(timer);
    });
  }

  private expect(id: number): Promise<TokenizerReply> {
    this.worker?.ref();
    return new Promise((resolve, reject) => this.pending.set(id, { resolve, reject }));
  }

  private receive(reply: TokenizerReply): void {
    if (reply.refused !== undefined) {
      this.fail(new SpikedError(reply.refused.code, reply.refused.message));
      return;
    }
    // After an exception the library's memory cannot be trusted.
    if (reply.error !== undefined) {
      this.crash(reply.error);
      return;
    }
    const call = this.pending.get(reply.id);
    this.pending.delete(reply.id);
    if (this.pending.size === 0) this.worker?.unref();
    call?.resolve(reply);
  }

  private crash(why: string): void {
    const message = `tokenizer: expected ${this.program.expected} that works, found that its thread fails: ${why}`;
    this.fail(new SpikedError('ERR_TOKENIZER_INVALID', message));
  }

  private fail(error: SpikedError): void {
    void this.worker?.terminate();
    this.stop(error);
  }

  /** Rejects every call; the next one starts a new worker. */
  private stop(error: SpikedError): void {
    this.worker = undefined;
    this.started = undefined;
    this.ended = error;
    const calls = [...this.pending.values()];
    this.pending.clear();
    for (const call of calls) call.reject(error);
  }
}

function unexpected(): SpikedError {
  return new SpikedError('ERR_INTERNAL', 'tokenizer: expected ids as the answer, found none');
}
