/** A client that writes whatever bytes a test wants and keeps whatever comes back. */
import net from 'node:net';
import { clientWireLimits, encodeMessage, FrameReader } from '../../../client/protocol/index.js';

type Message = readonly unknown[];

const patienceMs = 20_000;

export class RawClient {
  readonly messages: Message[] = [];
  ended = false;
  closed = false;
  private readonly frames = new FrameReader(clientWireLimits);
  private changed: () => void = () => undefined;

  private constructor(readonly socket: net.Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.frames.push(chunk);
      for (let frame = this.frames.next(); frame; frame = this.frames.next()) {
        this.messages.push(frame.value as Message);
      }
      this.changed();
    });
    socket.on('end', () => {
      this.ended = true;
      this.changed();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.closed = true;
      this.changed();
    });
  }

  static connect(path: string): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ path, allowHalfOpen: true });
      const client = new RawClient(socket);
      socket.once('connect', () => resolve(client));
      socket.once('error', reject);
    });
  }

  send(...message: unknown[]): void {
    this.socket.write(encodeMessage(message));
  }

  write(bytes: Uint8Array | number[]): void {
    this.socket.write(Uint8Array.from(bytes));
  }

  /** The answer to a request: its error, else its result. */
  async answer(id: number): Promise<Message> {
    return this.until(`an answer to ${String(id)}`, () =>
      this.messages.find((message) => message[0] === 1 && message[1] === id),
    );
  }

  async error(id: number): Promise<[number, string]> {
    const answer = await this.answer(id);
    if (!Array.isArray(answer[2])) throw new Error(`expected an error, found ${JSON.stringify(answer)}`);
    return answer[2] as [number, string];
  }

  async result(id: number): Promise<Record<string, unknown>> {
    const answer = await this.answer(id);
    if (answer[2] !== null) throw new Error(`expected a result, found ${JSON.stringify(answer)}`);
    return answer[3] as Record<string, unknown>;
  }

  /** Parameters of the events of one name. */
  events(name: string): Record<string, unknown>[] {
    const found = this.messages.filter((message) => message[0] === 2 && message[1] === name);
    return found.map((message) => (message[2] as Record<string, unknown>[])[0] ?? {});
  }

  /** Waits until `look` finds something. */
  async until<T>(what: string, look: () => T | undefined | false): Promise<T> {
    const end = Date.now() + patienceMs;
    for (;;) {
      const found = look();
      if (found !== undefined && found !== false) return found;
      const leftMs = end - Date.now();
      if (leftMs <= 0)
        throw new Error(`expected ${what} within ${String(patienceMs)} ms; ${this.describe()}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(leftMs, 250));
        this.changed = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  gone(): Promise<true> {
    return this.until('the end of the connection', () => this.ended || this.closed);
  }

  close(): void {
    this.socket.destroy();
  }

  private describe(): string {
    const last = JSON.stringify(this.messages.slice(-3), (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    return `ended ${String(this.ended)}, closed ${String(this.closed)}, last messages ${last}`;
  }
}
