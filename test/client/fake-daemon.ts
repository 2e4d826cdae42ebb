/** A server that answers as a test says: for what a real daemon never does. */
import net from 'node:net';
import { join } from 'node:path';
import { connect, type Client } from '../../client/index.js';
import { encodeMessage, FrameReader, serverWireLimits } from '../../client/protocol/index.js';
import { tempDir } from '../tools/suite.js';

export type Request = [type: number, id: number, method: string, params: [Record<string, unknown>]];
export type Answer = (request: Request, socket: net.Socket) => void;

const folder = tempDir();
let count = 0;

export class FakeDaemon {
  readonly requests: Request[] = [];
  readonly path = join(folder, `${String(count++)}.sock`);
  private readonly sockets = new Set<net.Socket>();
  private readonly server: net.Server;

  constructor(answer: Answer) {
    this.server = net.createServer((socket) => {
      this.sockets.add(socket);
      const frames = new FrameReader(serverWireLimits);
      socket.on('error', () => undefined);
      socket.on('data', (chunk: Buffer) => {
        frames.push(chunk);
        for (let frame = frames.next(); frame; frame = frames.next()) {
          const request = frame.value as Request;
          this.requests.push(request);
          answer(request, socket);
        }
      });
    });
  }

  async client(): Promise<Client> {
    await new Promise<void>((resolve) => this.server.listen(this.path, resolve));
    return connect({ path: this.path });
  }

  methods(): string[] {
    return this.requests.map((request) => request[2]);
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}

export function send(socket: net.Socket, ...message: unknown[]): void {
  socket.write(encodeMessage(message));
}

/** A valid summary of a generation. */
export function summary(stream: unknown, extra: object = {}): object {
  return {
    ...{
      stream,
      model: 'm',
      tokens: [1],
      text: 'a',
      stop_reason: 'length',
      prompt_tokens: 1,
      cached_tokens: 0,
      generated_tokens: 1,
      seed: 7,
    },
    timings: { queued_ns: 1, prefill_ns: 1, decode_ns: 1, total_ns: 3 },
    activity: { mixer: 0.5, ffn: 0.5 },
    drafts: null,
    head: {
      mode: 'full',
      steps: 0,
      full_steps: 0,
      triggered: 0,
      proved: 0,
      fell_back: 0,
      rows: 0,
      survivors: 0,
      row_reduction_percent: null,
      projection_ns: 0,
      prior_ns: 0,
      selection_ns: 0,
      verification_ns: 0,
      bytes: 0,
    },
    ...extra,
  };
}
