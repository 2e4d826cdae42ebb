import { SpikedError, type FullParams } from '../../client/protocol/index.js';
import type { NativeSession } from '../../native/host/index.js';
import type { Counts } from '../metrics/counts.js';
import type { LoadedModel } from '../models/loaded-model.js';
import { prefillChunk } from '../queue/generation.js';
import type { Aftermath, Sequence } from '../queue/sequence.js';

export interface OpenSessionSetup {
  id: number;
  model: LoadedModel;
  native: NativeSession;
  /** Of the generator, for the next draw. */
  seed: bigint;
  /** How ids are found unless a request says otherwise. */
  head: FullParams<'session.open'>['head'];
  idleTimeoutMs: number;
  /** It is closed, by whomever; `idle` when nobody used it for idleTimeoutMs. */
  onClosed: (session: OpenSession, idle: boolean) => void;
}

interface Call {
  cancel: () => void;
  over: Promise<unknown>;
}

/**
 * A text that several requests add to, one at a time.
 *
 * The engine has been fed all of it but the last id: so whatever comes next, more text or a step, has an id to begin with.
 */
export class OpenSession implements Sequence {
  readonly goesOn = true;
  private text: number[] = [];
  private generatorSeed: bigint;
  private call: Call | null = null;
  private timer: NodeJS.Timeout | undefined;
  private isClosing = false;
  private isClosed = false;

  constructor(
    readonly setup: OpenSessionSetup,
    origin?: OpenSession,
  ) {
    this.generatorSeed = setup.seed;
    if (origin) this.text = [...origin.text];
    setup.model.acquire();
    this.watchIdleness();
  }

  /** The whole text. */
  get ids(): readonly number[] {
    return this.text;
  }

  get seed(): bigint {
    return this.generatorSeed;
  }

  /** No further call begins. */
  get closing(): boolean {
    return this.isClosing;
  }

  /**
   * Runs one call.
   *
   * @param cancel makes it end soon
   * @throws SpikedError ERR_BUSY when another one is under way
   */
  async use<T>(method: string, cancel: () => void, work: () => Promise<T>): Promise<T> {
    if (this.call) {
      throw new SpikedError(
        'ERR_BUSY',
        `${method}: session ${this.setup.id}: expected no other call under way on it, found one`,
      );
    }
    clearTimeout(this.timer);
    const running = work();
    this.call = { cancel, over: running.catch(() => undefined) };
    try {
      return await running;
    } finally {
      this.call = null;
      this.watchIdleness();
    }
  }

  /**
   * Feeds ids, the last one excepted.
   *
   * @param stop  ends it after the pass that is under way; the text then has the ids so far
   * @returns how many of them the text has got, and how many of those were taken over from the prefix cache
   */
  async append(
    ids: Int32Array,
    counts: Counts,
    stop: AbortSignal,
  ): Promise<{ appended: number; cached: number }> {
    const { native } = this.setup;
    const before = native.stats();
    const last = this.text.at(-1);
    const feed = last === undefined ? ids.subarray(0, -1) : joined(last, ids.subarray(0, -1));
    let fed = 0;
    try {
      let seen = before;
      while (fed < feed.length && !stop.aborted) {
        const pass = feed.subarray(fed, fed + prefillChunk);
        await native.forward(pass, { logits: 'none' });
        fed += pass.length;
        const now = native.stats();
        counts.fed(seen, now);
        seen = now;
      }
    } catch (error) {
      this.end('broken');
      throw error;
    }
    // One id is not fed: where the text had none, it comes from these.
    const appended = last === undefined ? fed + 1 : fed;
    this.text = this.text.concat(Array.from(ids.subarray(0, appended)));
    return { appended, cached: native.stats().cachedPositions - before.cachedPositions };
  }

  /** Makes an append reject; the session ends with it. */
  abort(): void {
    this.setup.native.cancel();
  }

  begin(): { session: NativeSession; fed: number } {
    return { session: this.setup.native, fed: this.text.length - 1 };
  }

  end(after: Aftermath): void {
    if (after === 'unchanged') return;
    if (after === 'broken') {
      this.destroy(false);
      return;
    }
    this.text = this.text.concat(after.tokens);
    this.generatorSeed = after.seed;
  }

  /** Ends the call under way, then the session. */
  async close(): Promise<void> {
    this.isClosing = true;
    while (this.call) {
      this.call.cancel();
      await this.call.over;
    }
    this.destroy(false);
  }

  private watchIdleness(): void {
    if (this.isClosed) return;
    this.timer = setTimeout(() => this.destroy(true), this.setup.idleTimeoutMs).unref();
  }

  private destroy(idle: boolean): void {
    if (this.isClosed) return;
    this.isClosed = this.isClosing = true;
    clearTimeout(this.timer);
    this.setup.native.close();
    this.setup.model.release();
    this.setup.onClosed(this, idle);
  }
}

function joined(first: number, others: Int32Array): Int32Array {
  const all = new Int32Array(1 + others.length);
  all[0] = first;
  all.set(others, 1);
  return all;
}
