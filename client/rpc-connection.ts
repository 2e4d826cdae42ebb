import type net from 'node:net';
import {
  clientWireLimits,
  encodeMessage,
  errorFromWire,
  FrameReader,
  parseEnvelope,
  parseEvent,
  request,
  SpikedError,
  type EventParams,
  type HeadEvent,
  type TokenEvent,
} from './protocol/index.js';

/** A request in flight. `finish` is called exactly once. */
interface Pending {
  finish(error: SpikedError | null, result?: unknown): void;
}

/** The client's end of one connection: matches answers to calls and hands on token events. */
export class RpcConnection {
  /** Settles when the connection has ended, for whatever reason. */
  readonly closed: Promise<void>;
  onToken: (event: TokenEvent) => void = () => undefined;
  onHead: (event: HeadEvent) => void = () => undefined;
  onExpired: (event: EventParams<'session.expired'>) => void = () => undefined;

  private readonly frames = new FrameReader(clientWireLimits);
  private readonly pending = new Map<number, Pending>();
  private nextId = 1;
  private ended: SpikedError | null = null;
  private reason: SpikedError | null = null;

  constructor(
    private readonly socket: net.Socket,
    private readonly path: string,
  ) {
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
    socket.on('error', (error) => this.fail(this.lost(error.message)));
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.fail(this.lost('the daemon closed the connection'));
        resolve();
      });
    });
  }

  /** Sends a request. `finish` gets the answer or the reason why there will be none; the returned function forgets the call. */
  send(method: string, params: object, finish: Pending['finish']): () => void {
    if (this.ended) {
      finish(this.ended);
      return () => undefined;
    }
    const id = this.takeId();
    let bytes: Buffer;
    try {
      bytes = encodeMessage(request(id, method, params));
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      finish(new SpikedError('ERR_INVALID_ARGUMENT', `${method}: parameters cannot be encoded: ${detail}`));
      return () => undefined;
    }
    this.pending.set(id, { finish });
    this.socket.write(bytes);
    return () => void this.pending.delete(id);
  }

  async close(): Promise<void> {
    this.fail(this.lost('this side closed the connection'));
    this.socket.destroy();
    await this.closed;
  }

  /** Message ids wrap at 32 bits; those still in flight are left out. */
  private takeId(): number {
    while (this.pending.has(this.nextId)) this.nextId = (this.nextId + 1) >>> 0;
    const id = this.nextId;
    this.nextId = (this.nextId + 1) >>> 0;
    return id;
  }

  private receive(chunk: Buffer): void {
    this.frames.push(chunk);
    try {
      for (let frame = this.frames.next(); frame; frame = this.frames.next()) this.handle(frame.value);
    } catch (error) {
      const why =
        error instanceof SpikedError
          ? error
          : new SpikedError('ERR_INTERNAL', String(error), { cause: error });
      this.fail(why);
      this.socket.destroy();
    }
  }

  private handle(message: unknown): void {
    const envelope = parseEnvelope(message);
    if (envelope.kind === 'response') {
      const pending = this.pending.get(envelope.id);
      this.pending.delete(envelope.id);
      // Unknown ids are answers to calls that were abandoned.
      if (envelope.error === null || envelope.error === undefined) pending?.finish(null, envelope.result);
      else pending?.finish(errorFromWire(envelope.error));
    } else if (envelope.kind === 'notification') {
      this.notified(envelope.method, envelope.params);
    } else {
      const found = envelope.kind === 'invalid' ? envelope.reason : 'a request from the daemon';
      throw new SpikedError('ERR_RPC_INVALID', `${this.path}: expected an answer or event, found ${found}`);
    }
  }

  private notified(method: unknown, params: unknown): void {
    const first: unknown = Array.isArray(params) ? params[0] : undefined;
    if (method === 'text.token') this.onToken(parseEvent('text.token', first));
    else if (method === 'text.head') this.onHead(parseEvent('text.head', first));
    else if (method === 'session.expired') this.onExpired(parseEvent('session.expired', first));
    else if (method === 'server.closing') {
      this.reason = errorFromWire(parseEvent('server.closing', first).error);
    }
  }

  private lost(detail: string): SpikedError {
    return this.reason ?? new SpikedError('ERR_CONNECTION_LOST', `${this.path}: ${detail}`);
  }

  private fail(error: SpikedError): void {
    if (this.ended) return;
    this.ended = error;
    const waiting = [...this.pending.values()];
    this.pending.clear();
    for (const pending of waiting) pending.finish(error);
  }
}
