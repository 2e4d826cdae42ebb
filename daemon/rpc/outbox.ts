import type net from 'node:net';
import { encodeMessage } from '../../client/protocol/index.js';

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
  private unreadAtTimer = 0;

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
    this.socket.write(encodeMessage(message), this.taken);
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
    this.unreadAtTimer = this.socket.writableLength;
    this.timer = setTimeout(() => {
      if (this.socket.writableLength < this.unreadAtTimer) this.watch();
      else this.options.onTooSlow();
    }, this.options.slowReaderMs);
  }
}
