import { cancelled, Watch } from './call.js';
import { Generation, type GenerateMethod, type GenerateParams } from './generation.js';
import { longTimeoutMs, shortTimeoutMs, type CallOptions } from './options.js';
import { parseResult, type MethodName, type Params, type Result } from './protocol/index.js';
import type { RpcConnection } from './rpc-connection.js';
import { Session, type OpenSessionParams, type SessionHost } from './session.js';

/** Calls that compute, load or wait for their turn. */
const slow = new Set<MethodName>([
  'model.load',
  'text.score',
  'text.generate',
  'session.append',
  'session.generate',
  'session.fork',
  'session.close',
  'tokens.encode',
  'tokens.decode',
]);

/**
 * One connection to the daemon. Every call ends: with its answer, with the daemon's error (a SpikedError of the table), with
 * ERR_TIMEOUT, with ERR_CANCELLED when its signal aborts, or with ERR_CONNECTION_LOST.
 */
export class Client {
  /** Settles when the connection has ended, for whatever reason. */
  readonly closed: Promise<void>;
  private readonly generations = new Map<number, Generation>();
  private readonly sessions = new Map<number, Session>();
  private nextStream = 1;

  constructor(private readonly rpc: RpcConnection) {
    this.closed = rpc.closed;
    rpc.onToken = (event) => {
      if (typeof event.stream === 'number') this.generations.get(event.stream)?.push(event);
    };
    rpc.onHead = (event) => {
      if (typeof event.stream === 'number') this.generations.get(event.stream)?.onHead(event);
    };
    rpc.onExpired = ({ session: id }) => {
      const session = this.sessions.get(id);
      this.sessions.delete(id);
      session?.onExpired();
    };
  }

  /** Any method by name; the others below are this with a shorter spelling. Parameters and answers: protocol/messages.ts. */
  async call<M extends MethodName>(
    method: M,
    params: Params<M>,
    options: CallOptions = {},
  ): Promise<Result<M>> {
    return parseResult(method, await this.send(method, params, options));
  }

  /** Starts a generation; iterate it for its tokens, await its `result` for the summary. */
  generate(params: GenerateParams, options?: CallOptions): Generation {
    return this.start('text.generate', params, options);
  }

  /** A text that several calls add to. */
  async openSession(params: OpenSessionParams = {}, options?: CallOptions): Promise<Session> {
    const { session, seed } = await this.call('session.open', params, options);
    return this.adopt(session, seed);
  }

  serverInfo(options?: CallOptions): Promise<Result<'server.info'>> {
    return this.call('server.info', {}, options);
  }

  serverMemory(options?: CallOptions): Promise<Result<'server.memory'>> {
    return this.call('server.memory', {}, options);
  }

  serverRequests(options?: CallOptions): Promise<Result<'server.requests'>> {
    return this.call('server.requests', {}, options);
  }

  async serverMetrics(options?: CallOptions): Promise<string> {
    return (await this.call('server.metrics', {}, options)).text;
  }

  async listModels(options?: CallOptions): Promise<Result<'model.list'>['models']> {
    return (await this.call('model.list', {}, options)).models;
  }

  loadModel(model: string, options?: CallOptions): Promise<Result<'model.load'>> {
    return this.call('model.load', { model }, options);
  }

  unloadModel(
    model: string,
    params: { when_idle?: boolean } = {},
    options?: CallOptions,
  ): Promise<Result<'model.unload'>> {
    return this.call('model.unload', { ...params, model }, options);
  }

  async encode(
    text: string,
    params: Omit<Params<'tokens.encode'>, 'text' | 'messages'> = {},
    options?: CallOptions,
  ): Promise<number[]> {
    return (await this.call('tokens.encode', { ...params, text }, options)).tokens;
  }

  async decode(
    tokens: number[],
    params: Omit<Params<'tokens.decode'>, 'tokens'> = {},
    options?: CallOptions,
  ): Promise<string> {
    return (await this.call('tokens.decode', { ...params, tokens }, options)).text;
  }

  score(params: Params<'text.score'>, options?: CallOptions): Promise<Result<'text.score'>> {
    return this.call('text.score', params, options);
  }

  /** Ends the connection; what is pending rejects with ERR_CONNECTION_LOST and the daemon cancels it. */
  close(): Promise<void> {
    return this.rpc.close();
  }

  private start(method: GenerateMethod, params: object, options: CallOptions = {}): Generation {
    const stream = this.nextStream;
    this.nextStream = (this.nextStream % 0xffff_ffff) + 1;
    const generation = new Generation(this.rpc, method, stream, params, options);
    this.generations.set(stream, generation);
    const forget = (): void => void this.generations.delete(stream);
    generation.result.then(forget, forget);
    return generation;
  }

  private adopt(id: number, seed: number | bigint): Session {
    const host: SessionHost = {
      call: (method, params, options) => this.call(method, params, options),
      start: (params, options) => this.start('session.generate', params, options),
      adopt: (...fork) => this.adopt(...fork),
      forget: (closed) => void this.sessions.delete(closed),
    };
    const session = new Session(host, id, seed);
    this.sessions.set(id, session);
    return session;
  }

  private send(method: MethodName, params: object, options: CallOptions): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (options.signal?.aborted) {
        reject(cancelled(method, options.signal));
        return;
      }
      const watch = new Watch(method, options, slow.has(method) ? longTimeoutMs : shortTimeoutMs, (error) => {
        forget();
        reject(error);
      });
      const forget = this.rpc.send(method, params, (error, result) => {
        watch.stop();
        if (error) reject(error);
        else resolve(result);
      });
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
