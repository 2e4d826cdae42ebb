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

/** Writes one message a write and knows whether the peer keeps up with reading. */
export class Outbox {
  private timer: NodeJS.Timeout | undefined;
  private unreadAtTimer = 0;

  constructor(
    private readonly socket: net.Socket,
    private readonly options: OutboxOptions,
  ) {
    socket.on('drain', () => {
      this.stop();
      this.options.onRelieved();
    });
  }

  /** More is unread than may be: nothing that can wait should be added. */
  get congested(): boolean {
    return this.socket.writableLength > this.options.maxUnreadBytes;
  }

  send(message: readonly unknown[]): void {
    if (!this.socket.writable) return;
    this.socket.write(encodeMessage(message));
    if (this.congested && !this.timer) this.watch();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private watch(): void {
    this.unreadAtTimer = this.socket.writableLength;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.socket.writableLength < this.unreadAtTimer) this.watch();
      else this.options.onTooSlow();
    }, this.options.slowReaderMs);
  }
}
