import type net from 'node:net';
import {
  encodeMessage,
  errorResponse,
  FrameError,
  FrameReader,
  notification,
  response,
  SpikedError,
  type StreamId,
  type WireLimits,
} from '../../client/protocol/index.js';
import type { Logger } from '../log.js';
import type { Job } from '../queue/scheduler.js';
import { Outbox } from './outbox.js';

/** What a reload may change. */
export interface ConnectionSettings {
  limits: WireLimits;
  maxUnreadBytes: number;
  slowReaderMs: number;
  messageMs: number;
}

export interface ConnectionOptions {
  /** Counts from 1; the log has it too. */
  id: number;
  settings: ConnectionSettings;
  log: Logger;
  /** A whole message; `utf8` is false when some text in it is not UTF-8. */
  onMessage: (connection: Connection, message: unknown, utf8: boolean) => void;
  /** The reader has caught up: paused work may go on. */
  onRelieved: () => void;
}

/** Requests of one connection that may be at work outside the queue before its reading pauses. */
const maxConcurrent = 64;
/** Milliseconds for the peer to take the last bytes and go, once we have ended our side. */
const lingerMs = 1_000;

/**
 * One client. Reads messages, knows its requests in flight and its streams, and ends them all with it.
 *
 * The end of the client's input does not end the connection: what was asked is answered first.
 */
export class Connection {
  /** Active streams by the caller's id. */
  readonly streams = new Map<StreamId, Job>();
  /** Everything of this connection that the queue holds. */
  readonly jobs = new Set<Job>();
  readonly log: Logger;
  readonly id: number;

  private settings: ConnectionSettings;
  private readonly frames: FrameReader;
  private readonly outbox: Outbox;
  private readonly inFlight = new Set<number>();
  private concurrent = 0;
  private inputEnded = false;
  private ending = false;
  private messageTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly socket: net.Socket,
    private readonly options: ConnectionOptions,
  ) {
    this.log = options.log;
    this.id = options.id;
    this.settings = options.settings;
    this.frames = new FrameReader(options.settings.limits);
    this.outbox = new Outbox(socket, options.settings, {
      onRelieved: () => {
        this.read();
        options.onRelieved();
      },
      onTooSlow: () => {
        this.log.warn(
          { unread_bytes: socket.writableLength },
          'dropping a client that does not read its answers',
        );
        socket.destroy();
      },
    });
    socket.on('data', (chunk: Buffer) => {
      if (this.ending) return;
      this.frames.push(chunk);
      this.read();
    });
    socket.on('end', () => {
      this.endOfInput();
    });
    socket.on('error', (error) => {
      this.log.debug({ reason: error.message }, 'connection error');
    });
    socket.once('close', () => {
      this.closed();
    });
  }

  /** In force for the next message, the next write, the next wait. */
  set(settings: ConnectionSettings): void {
    this.settings = settings;
    this.frames.setLimits(settings.limits);
    this.outbox.set(settings);
  }

  get congested(): boolean {
    return this.outbox.congested;
  }

  /** False when this id is in flight already. */
  begin(id: number): boolean {
    if (this.inFlight.has(id)) return false;
    this.inFlight.add(id);
    return true;
  }

  answer(id: number, result: unknown): void {
    this.finish(id, response(id, result));
  }

  answerError(id: number, error: SpikedError): void {
    this.finish(id, errorResponse(id, error.toWire()));
  }

  /** An error for a message that began no request: its id may belong to one in flight, which goes on. */
  refuse(id: number, error: SpikedError): void {
    this.outbox.send(errorResponse(id, error.toWire()));
  }

  notify(event: string, params: object): void {
    this.outbox.send(notification(event, params));
  }

  /** What `work` sends leaves in one write. */
  together(work: () => void): void {
    this.outbox.together(work);
  }

  /** Counts work that neither the queue's bounds nor anything else holds back. */
  async bounded<T>(work: Promise<T>): Promise<T> {
    this.concurrent++;
    try {
      return await work;
    } finally {
      this.concurrent--;
      if (this.concurrent === maxConcurrent - 1) setImmediate(() => this.read());
    }
  }

  /** Says why, then ends the connection and everything that it asked for. */
  close(error: SpikedError): void {
    if (this.ending) return;
    this.notify('server.closing', { error: error.toWire() });
    this.end();
    this.cancelJobs();
  }

  /** Sends what is written and ends; a peer that takes nothing of it for slowReaderMs is cut off. */
  end(): void {
    if (this.ending) return;
    this.ending = true;
    clearTimeout(this.messageTimer);
    // Unread input would turn the close into a reset that can hide the last answers: it is read and thrown away.
    this.socket.resume();
    this.outbox.watchUntilStop();
    this.socket.end(() => {
      this.outbox.stop();
      setTimeout(() => this.socket.destroy(), lingerMs).unref();
    });
  }

  private get stalled(): boolean {
    return this.congested || this.concurrent >= maxConcurrent;
  }

  private read(): void {
    if (this.ending || this.socket.destroyed) return;
    try {
      while (!this.stalled) {
        const frame = this.frames.next();
        if (!frame) break;
        this.forgetMessage();
        this.options.onMessage(this, frame.value, frame.utf8);
      }
    } catch (error) {
      this.badInput(error);
      return;
    }
    if (this.stalled) this.socket.pause();
    else this.socket.resume();
    this.watchMessage();
    this.endWhenDone();
  }

  /** A message that was begun must end in time, else its sender holds memory for ever. */
  private watchMessage(): void {
    const unfinished = this.frames.pendingBytes > 0 && !this.stalled && !this.ending;
    if (!unfinished) this.forgetMessage();
    else this.messageTimer ??= setTimeout(() => this.messageLate(), this.settings.messageMs);
  }

  private messageLate(): void {
    const { messageMs } = this.settings;
    const text = `a message: expected its end within ${messageMs} ms, found ${this.frames.pendingBytes} bytes of it`;
    this.protocolError(new SpikedError('ERR_TIMEOUT', text));
  }

  private forgetMessage(): void {
    clearTimeout(this.messageTimer);
    this.messageTimer = undefined;
  }

  private badInput(error: unknown): void {
    if (!(error instanceof FrameError)) {
      this.log.error({ err: error }, 'a message failed unexpectedly');
      this.close(new SpikedError('ERR_INTERNAL', 'a message failed unexpectedly; the log has the reason'));
      return;
    }
    if (error.messageId !== null && !this.inFlight.has(error.messageId)) this.refuse(error.messageId, error);
    this.protocolError(error);
  }

  private protocolError(error: SpikedError): void {
    this.log.warn(
      { reason: error.message, code: error.code },
      'closing a connection that broke the protocol',
    );
    this.close(error);
  }

  private endOfInput(): void {
    this.inputEnded = true;
    this.read();
    if (this.ending) return;
    // A client that has gone altogether looks the same until something is written to it.
    if (this.inFlight.size > 0) this.notify('server.input_ended', { pending: this.inFlight.size });
  }

  private endWhenDone(): void {
    if (!this.inputEnded || this.stalled) return;
    if (this.frames.pendingBytes > 0) {
      const what = `a message: expected its end, found the end of the input after ${this.frames.pendingBytes} bytes`;
      this.protocolError(new SpikedError('ERR_RPC_INVALID', what));
    } else if (this.inFlight.size === 0) this.end();
  }

  private finish(id: number, message: unknown[]): void {
    if (!this.inFlight.has(id)) return;
    // First the bytes: what cannot be encoded must still be answered, with an error.
    this.outbox.send(message);
    this.inFlight.delete(id);
    this.endWhenDone();
  }

  private cancelJobs(): void {
    for (const job of [...this.jobs]) job.cancel();
  }

  private closed(): void {
    this.ending = true;
    this.outbox.stop();
    clearTimeout(this.messageTimer);
    this.cancelJobs();
  }
}

/** For a connection over the cap: one reason, then the end. */
export function turnAway(socket: net.Socket, error: SpikedError): void {
  socket.on('error', () => undefined);
  socket.resume();
  socket.end(encodeMessage(notification('server.closing', { error: error.toWire() })));
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
