import { writeSync } from 'node:fs';

/** Whether a write of a piece would not block, now or within waitMs. */
export type Writable = (fd: number, waitMs: number) => boolean;

/** Bytes of lines that wait; lines beyond are dropped and counted. */
const maxHeldBytes = 1 << 20;
/** What a pipe takes without blocking once it has room (PIPE_BUF). */
const pieceBytes = 4096;
const retryMs = 50;
/** Milliseconds for the last lines at the end. */
const flushMs = 200;

/**
 * Writes lines to a descriptor without ever waiting for whoever reads it: a reader that stands still or a full disk may cost lines, never
 * an answer. The descriptor keeps its flags, which other processes share.
 */
export class LogWriter {
  private held: Buffer[] = [];
  private heldBytes = 0;
  private lost = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly fd: number,
    private readonly writable: Writable,
    /** Called once there is room again after lines were dropped. */
    private readonly onLost: (lines: number) => void,
  ) {}

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.heldBytes + bytes.length > maxHeldBytes) {
      this.lost++;
      return;
    }
    this.held.push(bytes);
    this.heldBytes += bytes.length;
    this.drain(0);
  }

  /** A last attempt; the process is about to end. */
  flush(): void {
    this.drain(flushMs);
  }

  private drain(waitMs: number): void {
    const end = performance.now() + waitMs;
    const writable = (): boolean => this.writable(this.fd, Math.max(0, Math.ceil(end - performance.now())));
    try {
      while (this.heldBytes > 0 && writable()) {
        const [first = Buffer.alloc(0), ...others] = this.held;
        const all = others.length > 0 ? Buffer.concat(this.held) : first;
        const n = writeSync(this.fd, all, 0, Math.min(this.heldBytes, pieceBytes));
        this.held = [all.subarray(n)];
        this.heldBytes -= n;
      }
      if (this.heldBytes === 0) this.held = [];
    } catch (error) {
      if (isGone(error)) this.dropAll();
    }
    if (this.heldBytes > 0) this.timer ??= setTimeout(this.retry, retryMs).unref();
    else this.tellLost();
  }

  private readonly retry = (): void => {
    this.timer = undefined;
    this.drain(0);
  };

  /** The reader of a pipe has gone: what waits is for nobody. A later line tries again. */
  private dropAll(): void {
    this.held = [];
    this.heldBytes = 0;
    this.lost = 0;
  }

  private tellLost(): void {
    if (this.lost === 0) return;
    const lines = this.lost;
    this.lost = 0;
    this.onLost(lines);
  }
}

function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EPIPE' || code === 'ECONNRESET' || code === 'EBADF';
}
