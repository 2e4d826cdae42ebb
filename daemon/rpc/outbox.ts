import type net from 'node:net';
import { encodeFinite } from '../../client/protocol/index.js';

export interface OutboxSettings {
  maxUnreadBytes: number;
  slowReaderMs: number;
}

interface Listener {
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
  private untilStop = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly socket: net.Socket,
    private settings: OutboxSettings,
    private readonly listener: Listener,
  ) {}

  set(settings: OutboxSettings): void {
    this.settings = settings;
  }

  /** Too much is unread: nothing that can wait should be added. Ends when half of what is allowed is left. */
  get congested(): boolean {
    return this.behind;
  }

  send(message: readonly unknown[]): void {
    if (!this.socket.writable) return;
    this.socket.write(encodeFinite(message), this.taken);
    if (this.behind || this.socket.writableLength <= this.settings.maxUnreadBytes) return;
    this.behind = true;
    if (!this.untilStop) this.watch();
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

  /** Nothing more will be written: what is left must be taken without a halt, however little it is. */
  watchUntilStop(): void {
    this.untilStop = true;
    if (!this.behind) this.watch();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private readonly taken = (): void => {
    if (!this.behind || this.socket.writableLength > this.settings.maxUnreadBytes / 2) return;
    this.behind = false;
    if (!this.untilStop) this.stop();
    this.listener.onRelieved();
  };

  private watch(): void {
    const before = takenBytes(this.socket);
    this.timer = setTimeout(() => {
      if (takenBytes(this.socket) > before) this.watch();
      else this.listener.onTooSlow();
    }, this.settings.slowReaderMs);
  }
}

/** What the system has taken for the peer so far; writableLength would count a long write as a whole until its end. */
function takenBytes(socket: net.Socket): number {
  // Node has no public name for it.
  const handle: unknown = Reflect.get(socket, '_handle');
  if (typeof handle !== 'object' || handle === null) return 0;
  return Number(Reflect.get(handle, 'bytesWritten')) - Number(Reflect.get(handle, 'writeQueueSize'));
}
