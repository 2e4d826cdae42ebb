import { SpikedError } from '../../../client/protocol/errors.js';
import type { Line } from '../line.js';
import { pause, within } from '../timing.js';
import { encodeRequest, type ReadRequest } from './frame.js';
import { Pending, type Outcome } from './pending.js';

export interface MasterSettings {
  readonly slave: number;
  readonly functionCode: 3 | 4;
  readonly start: number;
  /** Block lengths that may be asked for, the best first. */
  readonly counts: readonly number[];
  /** Wait for an answer, ms. */
  readonly answerMs: number;
  /** The longest that an answer can take; nothing is asked before that is over, ms. */
  readonly worstMs: number;
  /** Rest between an answer and the next request, ms. */
  readonly gapMs: number;
  /** Give answers with a wrong checksum, marked. */
  readonly tolerant: boolean;
}

export type Result =
  | (Outcome & { readonly count: number })
  /** No answer in time; `bytes` came instead, or answers of devices that were not asked. */
  | {
      readonly kind: 'timeout';
      readonly count: number;
      readonly bytes: Uint8Array;
      readonly strangers: readonly number[];
    };

/** No more bytes of one frame after so much silence: adapters hand bytes over up to 16 ms late, a busy machine later. */
const frameEndMs = 40;
/** How long an answer that never came is still expected, ms: the slowest meters that are known take 3 s. */
const owedMs = 3_000;
const owedPollMs = 10;
/** For eight bytes to leave this program; a port that is stopped by the other side takes none. */
const sendMs = 2_000;

/**
 * Asks one device for one block of registers, one request at a time.
 *
 * Modbus RTU answers carry nothing that says which request they are for. So after a request without an answer nothing is sent until the
 * longest time that an answer can take is over; what comes then is dropped as late, with what the system holds. The next requests ask for
 * another number of registers, where the profile allows one: an answer that is later still has the wrong length and is known by it. With
 * both lengths owed nothing is sent until one answer came or 3 s are over.
 */
export class ModbusMaster {
  #pending: Pending | undefined;
  #wake: (outcome: Outcome | undefined) => void = () => undefined;
  #quietTimer: NodeJS.Timeout | undefined;
  readonly #counts: number[];
  /** Counts of requests without an answer, and until when one may still come. */
  readonly #owed = new Map<number, number>();

  constructor(
    private readonly line: Line,
    private readonly settings: MasterSettings,
  ) {
    this.#counts = [...settings.counts];
    line.receive((bytes, tNs) => this.#bytes(bytes, tNs));
  }

  /**
   * Asks once. Call it again only when it has resolved. At the end of the line it resolves early, as a timeout.
   *
   * @throws SpikedError ERR_METER_LOST the port closed, or takes no bytes
   */
  async read(): Promise<Result> {
    const { slave, functionCode, start, answerMs, gapMs, tolerant } = this.settings;
    const count = await this.#freeCount();
    const request: ReadRequest = { slave, functionCode, start, count };
    const pending = new Pending(request, this.#owed, (frame) => this.line.received(frame));
    this.#pending?.end(false);
    this.#pending = pending;
    const began = performance.now();
    const answered = new Promise<Outcome | undefined>((resolve) => (this.#wake = resolve));
    await this.#send(encodeRequest(request));
    let outcome = await within(answered, answerMs, this.line.signal);
    clearTimeout(this.#quietTimer);
    // It began to come, so waiting for it is over; what follows of it, if anything, is known by its length.
    if (outcome === undefined && pending.began) outcome = pending.end(tolerant);
    if (outcome === undefined) return this.#timeout(pending, began);
    this.#pending = undefined;
    if (outcome.kind === 'exception') this.#refused(count);
    await pause(gapMs, this.line.signal);
    return { ...outcome, count };
  }

  async #send(bytes: Uint8Array): Promise<void> {
    const sent = this.line.write(bytes).then(() => true);
    if ((await within(sent, sendMs, this.line.signal)) === undefined && !this.line.signal.aborted)
      throw new SpikedError('ERR_METER_LOST', `${this.line.path}: the port takes no bytes`);
  }

  #bytes(bytes: Uint8Array, tNs: bigint): void {
    const pending = this.#pending;
    if (pending === undefined) {
      this.line.received({ tNs, bytes, fault: 'noise' });
      return;
    }
    const outcome = pending.add(bytes, tNs);
    clearTimeout(this.#quietTimer);
    if (outcome !== undefined) this.#wake(outcome);
    else if (pending.isWhole)
      this.#quietTimer = setTimeout(() => this.#wake(pending.end(this.settings.tolerant)), frameEndMs);
  }

  /** Stays quiet until no answer can come any more; one that comes ends the wait and is dropped. */
  async #timeout(pending: Pending, began: number): Promise<Result> {
    const { signal } = this.line;
    const { count } = pending.request;
    if (!signal.aborted) this.line.timeout();
    const bytes = pending.rest;
    pending.expired = true;
    const late = new Promise<Outcome | undefined>((resolve) => (this.#wake = resolve));
    const outcome = await within(late, began + this.settings.worstMs - performance.now(), signal);
    clearTimeout(this.#quietTimer);
    const rest = outcome ?? pending.end(false);
    // Without a second length nothing more can be done than to have waited for the longest time.
    if (rest === undefined && this.#counts.length > 1) this.#owed.set(count, performance.now() + owedMs);
    await this.line.flush();
    await pause(this.settings.gapMs, signal);
    return { kind: 'timeout', count, bytes, strangers: [...pending.strangers] };
  }

  /** A count that no owed answer has; waits for one where all are owed. */
  async #freeCount(): Promise<number> {
    for (;;) {
      const now = performance.now();
      for (const [count, until] of this.#owed) if (until < now) this.#owed.delete(count);
      const free = this.#counts.find((count) => !this.#owed.has(count));
      if (free !== undefined) return free;
      if (this.line.signal.aborted) return this.#counts[0] ?? 1;
      await pause(owedPollMs, this.line.signal);
    }
  }

  /** A device that takes only whole blocks refuses the others: they are not asked for again. */
  #refused(count: number): void {
    const at = this.#counts.indexOf(count);
    if (at <= 0) return;
    this.#counts.splice(at, 1);
    this.#owed.clear();
  }
}
