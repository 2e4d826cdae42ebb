import type { CallOptions } from './options.js';
import { SpikedError } from './protocol/index.js';

/**
 * Watches one call for its caller's abort and for silence. `give` is called at most once, with ERR_CANCELLED or ERR_TIMEOUT.
 */
export class Watch {
  private timer: NodeJS.Timeout | undefined;
  private readonly timeoutMs: number;
  private readonly signal: AbortSignal | undefined;
  private done = false;

  constructor(
    private readonly what: string,
    options: CallOptions,
    defaultTimeoutMs: number,
    private readonly give: (error: SpikedError) => void,
  ) {
    this.timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
    this.signal = options.signal;
    this.signal?.addEventListener('abort', this.onAbort);
    if (this.timeoutMs <= 0) return;
    this.timer = setTimeout(() => {
      this.end(
        new SpikedError(
          'ERR_TIMEOUT',
          `${this.what}: expected an answer within ${this.timeoutMs} ms, found none`,
        ),
      );
    }, this.timeoutMs);
  }

  /** Something came: the silence begins anew. */
  touch(): void {
    if (!this.done) this.timer?.refresh();
  }

  stop(): void {
    this.done = true;
    clearTimeout(this.timer);
    this.signal?.removeEventListener('abort', this.onAbort);
  }

  private readonly onAbort = (): void => {
    this.end(cancelled(this.what, this.signal));
  };

  private end(error: SpikedError): void {
    if (this.done) return;
    this.stop();
    this.give(error);
  }
}

export function cancelled(what: string, signal: AbortSignal | undefined): SpikedError {
  return new SpikedError('ERR_CANCELLED', `${what}: the caller aborted it`, { cause: signal?.reason });
}
