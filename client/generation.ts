import { cancelled, Watch } from './call.js';
import { longTimeoutMs, type CallOptions } from './options.js';
import {
  parseResult,
  type HeadEvent,
  type Params,
  type Result,
  type SpikedError,
  type TokenEvent,
} from './protocol/index.js';
import type { RpcConnection } from './rpc-connection.js';

export type GenerateParams = Omit<Params<'text.generate'>, 'stream'>;
export type GenerateResult = Result<'text.generate'>;

export type GenerateMethod = 'text.generate' | 'session.generate';

/**
 * One running text.generate or session.generate: iterate it for the tokens, await `result` for the summary. Leaving the loop early cancels it.
 *
 * Both end with the same error when the call fails, the connection is lost, the signal aborts or the time is up.
 */
export class Generation implements AsyncIterable<TokenEvent> {
  readonly result: Promise<GenerateResult>;
  /** Called with every `text.head` event, before the token of the same `seq`; they come when `head.trace` is set. */
  onHead: (event: HeadEvent) => void = () => undefined;

  private readonly queue: TokenEvent[] = [];
  private waiting: (() => void)[] = [];
  private outcome: { error: SpikedError | null } | null = null;
  private readonly watch: Watch | undefined;

  constructor(
    private readonly rpc: RpcConnection,
    method: GenerateMethod,
    readonly stream: number,
    params: object,
    options: CallOptions,
  ) {
    let settle: (error: SpikedError | null, result?: unknown) => void = () => undefined;
    this.result = new Promise((resolve, reject) => {
      settle = (error, raw) => {
        if (this.outcome) return;
        let failure = error;
        try {
          if (!failure) resolve(parseResult(method, raw));
        } catch (thrown) {
          failure = thrown as SpikedError;
        }
        if (failure) reject(failure);
        this.outcome = { error: failure };
        this.watch?.stop();
        this.wake();
      };
    });
    // A caller may only iterate: the loop throws the same error, so this promise must not count as unhandled.
    this.result.catch(() => undefined);
    if (options.signal?.aborted) {
      settle(cancelled(method, options.signal));
      return;
    }
    const abandon = (error: SpikedError): void => {
      void this.cancel();
      settle(error);
    };
    this.watch = new Watch(method, options, longTimeoutMs, abandon);
    rpc.send(method, { ...params, stream }, settle);
  }

  /** Asks the daemon to stop; tokens so far and a result with stop_reason "cancelled" still come. Safe at any time. */
  async cancel(): Promise<boolean> {
    if (this.outcome) return false;
    return new Promise((resolve) => {
      this.rpc.send('text.cancel', { stream: this.stream }, (error, raw) => {
        resolve(error === null && parseResult('text.cancel', raw).cancelled);
      });
    });
  }

  /** For Client: an event of this stream. */
  push(event: TokenEvent): void {
    if (this.outcome) return;
    this.watch?.touch();
    this.queue.push(event);
    this.wake();
  }

  private wake(): void {
    if (this.waiting.length > 0) for (const resolve of this.waiting.splice(0)) resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TokenEvent, void, undefined> {
    try {
      for (;;) {
        const event = this.queue.shift();
        if (event) yield event;
        else if (!this.outcome) await new Promise<void>((resolve) => this.waiting.push(resolve));
        else if (this.outcome.error) throw this.outcome.error;
        else return;
      }
    } finally {
      void this.cancel();
    }
  }
}
