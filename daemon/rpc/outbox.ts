import type net from 'node:net';
import { encodeFinite } from '../../client/protocol/index.js';

export interface OutboxOptions {
  maxUnreadBytes: number;
  slowReaderMs: number;
  /** The peer has caught up. */
  onRelieved: () => void;
  /** The peer made no progress for slowReaderMs. */
  onTooSlow: () => void;
}

/**
 * Writes messages, each at once or several together, and knows whether the peer keeps up with reading.
 *
 * Node's own 'drain' would not do: it comes only after its high-water mark, which may lie above ours.
 */
export class Outbox {
  private behind = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly socket: net.Socket,
    private readonly options: OutboxOptions,
  ) {}

  /** Too much is unread: nothing that can wait should be added. Ends when half of what is allowed is left. */
  get congested(): boolean {
    return this.behind;
  }

  send(message: readonly unknown[]): void {
    if (!this.socket.writable) return;
    this.socket.write(encodeFinite(message), this.taken);
    if (this.behind || this.socket.writableLength <= this.options.maxUnreadBytes) return;
    this.behind = true;
    this.watch();
  }

  /** Everything that `work` sends goes in one write. */
  together(work: () => void): void {
    this.socket.cork();
    try {
      work();
    } finally {
      this.socket.uncork();
    }
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private readonly taken = (): void => {
    if (!this.behind || this.socket.writableLength > this.options.maxUnreadBytes / 2) return;
    this.behind = false;
    this.stop();
    this.options.onRelieved();
  };

  private watch(): void {
    const before = takenBytes(this.socket);
    this.timer = setTimeout(() => {
      if (takenBytes(this.socket) > before) this.watch();
      else this.options.onTooSlow();
    }, this.options.slowReaderMs);
  }
}

/** What the system has taken for the peer so far; writableLength would count a long write as a whole until its end. */
function takenBytes(socket: net.Socket): number {
  // Node has no public name for it.
  const handle: unknown = Reflect.get(socket, '_handle');
  if (typeof handle !== 'object' || handle === null) return 0;
  return Number(Reflect.get(handle, 'bytesWritten')) - Number(Reflect.get(handle, 'writeQueueSize'));
}
