/** A connection that trusts nothing: every request ends exactly once, streams have no gaps, no number is infinite. */
import net from 'node:net';
import {
  clientWireLimits,
  encodeMessage,
  FrameReader,
  type TokenEvent,
} from '../../../client/protocol/index.js';

export type Outcome =
  | { kind: 'result'; result: Record<string, unknown> }
  | { kind: 'error'; code: string; text: string }
  /** The connection ended first. */
  | { kind: 'lost' };

interface Pending {
  resolve: (outcome: Outcome) => void;
  stream: number | null;
}

export class Audited {
  /** What the daemon did that it must never do. */
  readonly violations: string[] = [];
  /** Requests that got their one answer. */
  answered = 0;
  readonly closed: Promise<void>;
  private readonly frames = new FrameReader(clientWireLimits);
  private readonly pending = new Map<number, Pending>();
  private readonly streams = new Map<number, TokenEvent[]>();
  private nextId = 1;
  private isClosed = false;

  private constructor(readonly socket: net.Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.frames.push(chunk);
      for (let frame = this.frames.next(); frame; frame = this.frames.next())
        this.take(frame.value as unknown[]);
    });
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.isClosed = true;
        for (const { resolve: end } of this.pending.values()) end({ kind: 'lost' });
        this.pending.clear();
        resolve();
      });
    });
  }

  static connect(path: string): Promise<Audited> {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ path });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new Audited(socket));
      });
    });
  }

  call(method: string, params: object): Promise<Outcome> {
    return this.send(method, params, null);
  }

  /** A generation; `events` fills as tokens come. */
  generate(
    params: object,
    method = 'text.generate',
  ): { stream: number; events: TokenEvent[]; outcome: Promise<Outcome> } {
    const stream = this.nextId;
    const events: TokenEvent[] = [];
    this.streams.set(stream, events);
    const outcome = this.send(method, { ...params, stream }, stream);
    return { stream, events, outcome };
  }

  /** Vanishes. */
  destroy(): void {
    this.socket.destroy();
  }

  private send(method: string, params: object, stream: number | null): Promise<Outcome> {
    if (this.isClosed) return Promise.resolve({ kind: 'lost' });
    const id = this.nextId++;
    return new Promise((resolve) => {
      this.pending.set(id, { resolve, stream });
      this.socket.write(encodeMessage([0, id, method, [params]]));
    });
  }

  private take(message: unknown[]): void {
    const bad = notFinite(message);
    if (bad !== null) this.violations.push(`a number that is not finite at ${bad}`);
    if (message[0] === 1) this.takeAnswer(message);
    else if (message[0] === 2) this.takeEvent(message);
    else this.violations.push(`a message of type ${String(message[0])}`);
  }

  private takeAnswer([, id, error, result]: unknown[]): void {
    const pending = this.pending.get(id as number);
    if (!pending) {
      this.violations.push(`an answer to ${String(id)}, which is not in flight`);
      return;
    }
    this.pending.delete(id as number);
    if (pending.stream !== null) this.streams.delete(pending.stream);
    this.answered++;
    if (error === null) pending.resolve({ kind: 'result', result: result as Record<string, unknown> });
    else {
      const [number, text] = error as [number, string];
      if (typeof number !== 'number' || !/^ERR_\w+: /.test(text) || result !== null)
        this.violations.push(`an error of another form: ${JSON.stringify(error)}`);
      pending.resolve({ kind: 'error', code: text.slice(0, text.indexOf(':')), text });
    }
  }

  private takeEvent([, name, params]: unknown[]): void {
    if (name !== 'text.token') return;
    const event = (params as TokenEvent[])[0];
    const events = event && this.streams.get(event.stream as number);
    if (!event || !events)
      this.violations.push(`a token of a stream that is not active: ${JSON.stringify(event?.stream)}`);
    else if (event.seq !== events.length)
      this.violations.push(`token ${String(event.seq)} where ${String(events.length)} was due`);
    else events.push(event);
  }
}

/** Where a value holds NaN or an infinity, or null. */
export function notFinite(value: unknown, path = ''): string | null {
  if (typeof value === 'number') return Number.isFinite(value) ? null : path;
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return null;
  for (const [key, item] of Object.entries(value)) {
    const found = notFinite(item, `${path}/${key}`);
    if (found !== null) return found;
  }
  return null;
}
