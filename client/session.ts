import type { Generation } from './generation.js';
import type { CallOptions } from './options.js';
import type { MethodName, Params, Result } from './protocol/index.js';

/** Of a conversation. */
export type ChatMessage = NonNullable<Params<'text.generate'>['messages']>[number];
export type OpenSessionParams = Params<'session.open'>;
export type SessionGenerateParams = Omit<Params<'session.generate'>, 'stream' | 'session'>;

/** What a session uses of its client. */
export interface SessionHost {
  call<M extends MethodName>(method: M, params: Params<M>, options?: CallOptions): Promise<Result<M>>;
  start(params: SessionGenerateParams & { session: number }, options?: CallOptions): Generation;
  adopt(id: number, seed: number | bigint): Session;
  forget(id: number): void;
}

/**
 * A text that the daemon keeps and several calls add to, one at a time. It ends with close(), with its client's connection, or when it
 * was not used for a while; calls then reject with ERR_SESSION_CLOSED.
 */
export class Session {
  /** Called when the daemon has closed it because nobody used it. */
  onExpired: () => void = () => undefined;

  constructor(
    private readonly host: SessionHost,
    readonly id: number,
    /** Of its generator, as it began. */
    readonly seed: number | bigint,
  ) {}

  /** Adds a text, ids, or messages of a conversation, and computes them: all of them unless `timeout_ms` is given and the result says `timed_out`. */
  append(
    added: string | number[] | { messages: ChatMessage[] },
    params: { bos?: boolean; timeout_ms?: number } = {},
    options?: CallOptions,
  ): Promise<Result<'session.append'>> {
    return this.host.call('session.append', { session: this.id, ...given(added), ...params }, options);
  }

  /** Continues the text; what it generates is part of the text. */
  generate(params: SessionGenerateParams = {}, options?: CallOptions): Generation {
    return this.host.start({ ...params, session: this.id }, options);
  }

  /** A second session that goes on from where this one is. */
  async fork(options?: CallOptions): Promise<Session> {
    const { session, seed } = await this.host.call('session.fork', { session: this.id }, options);
    return this.host.adopt(session, seed);
  }

  /** Ends it, and first what is under way on it. */
  async close(options?: CallOptions): Promise<Result<'session.close'>> {
    const result = await this.host.call('session.close', { session: this.id }, options);
    this.host.forget(this.id);
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function given(added: string | number[] | { messages: ChatMessage[] }) {
  if (typeof added === 'string') return { prompt: added };
  return Array.isArray(added) ? { tokens: added } : added;
}
