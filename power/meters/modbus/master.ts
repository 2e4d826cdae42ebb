import { SpikedError } from '../../../client/protocol/errors.js';
import type { Line } from '../line.js';
import { pause, within } from '../timing.js';
import { encodeRequest, type ReadRequest } from './frame.js';
import { Pending, type Outcome, type Tolerance } from './pending.js';

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
  /** What to do with an answer whose checksum is wrong. */
  readonly crc: Tolerance;
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
/** How long an answer that never came is still expected, ms: the slowest meters that are known take 3 s for one. */
const owedMs = 3_000;
const owedPollMs = 10;
/** Exceptions 1 to 3 refuse a function, registers, or their number; others tell of the device's state. */
const lastRefusal = 3;
/** For eight bytes to leave this program; a port that is stopped by the other side takes none. */
const sendMs = 2_000;

/**
 * Asks one device for one block of registers, one request at a time.
 *
 * Modbus RTU answers carry nothing that says which request they are for. So after a request without an answer nothing is sent until the
 * longest time that an answer can take is over; what comes then is dropped as late, with what the system holds. The next requests ask for
 * another number of registers, where the profile allows one: an answer that is later still has the wrong length and is known by it. Where
 * every length is owed nothing is sent until an answer came or 3 s are over. A new line begins in the same way, since another program's
 * last request may still be answered.
 */
export class ModbusMaster {
  #pending: Pending | undefined;
  #wake: (outcome: Outcome | undefined) => void = () => undefined;
  #quietTimer: NodeJS.Timeout | undefined;
  readonly #counts: number[];
  /** Counts of requests whose answers may still come, */
  readonly #owed = new Set<number>();
  /** and until when. A device answers in turn, so a new one that is owed puts off the others. */
  #owedUntil = 0;
  /** Until then an answer of the first length may be another program's. */
  readonly #othersUntil: number;

  constructor(
    private readonly line: Line,
    private readonly settings: MasterSettings,
  ) {
    this.#counts = [...settings.counts];
    this.#othersUntil = performance.now() + settings.worstMs;
    line.receive((bytes, tNs) => this.#bytes(bytes, tNs));
  }

  /**
   * Asks once. Call it again only when it has resolved. At the end of the line it resolves early, as a timeout.
   *
   * @throws SpikedError ERR_METER_LOST the port closed, or takes no bytes
   */
  async read(): Promise<Result> {
    const { slave, functionCode, start, answerMs, gapMs, crc } = this.settings;
    const count = await this.#freeCount();
    const request: ReadRequest = { slave, functionCode, start, count };
    const pending = new Pending(request, this.#owed, (frame) => this.line.received(frame));
    this.#pending?.end('strict');
    this.#pending = pending;
    const began = performance.now();
    const answered = new Promise<Outcome | undefined>((resolve) => (this.#wake = resolve));
    await this.#send(encodeRequest(request));
    let outcome = await within(answered, answerMs, this.line.signal);
    clearTimeout(this.#quietTimer);
    // It began to come, so waiting for it is over; what follows of it, if anything, is known by its length.
    if (outcome === undefined && pending.began) outcome = pending.end(crc);
    if (outcome === undefined) return this.#timeout(pending, began);
    this.#pending = undefined;
    if (outcome.kind === 'exception') this.#exception(count, outcome.code);
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
    // It answered one request of several: the others are only begun now.
    if (outcome?.kind === 'exception') this.#owedUntil = performance.now() + owedMs;
    clearTimeout(this.#quietTimer);
    if (outcome !== undefined) this.#wake(outcome);
    else if (pending.isWhole)
      this.#quietTimer = setTimeout(() => this.#wake(pending.end(this.settings.crc)), frameEndMs);
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
    const rest = outcome ?? pending.end('strict');
    if (rest === undefined) this.#owe(count);
    else if (rest.kind === 'exception') this.#exception(count, rest.code);
    await this.line.flush();
    await pause(this.settings.gapMs, signal);
    return { kind: 'timeout', count, bytes, strangers: [...pending.strangers] };
  }

  #owe(count: number): void {
    this.#owed.add(count);
    this.#owedUntil = performance.now() + owedMs;
  }

  /** A count that no owed answer has; waits for one where all are owed. */
  async #freeCount(): Promise<number> {
    for (;;) {
      const now = performance.now();
      if (this.#owedUntil < now) this.#owed.clear();
      const [first = 1] = this.#counts;
      const free = this.#counts.find(
        (count) => !this.#owed.has(count) && (count !== first || this.#othersUntil < now),
      );
      if (free !== undefined) return free;
      if (this.line.signal.aborted) return first;
      await pause(owedPollMs, this.line.signal);
    }
  }

  /**
   * A device that takes only whole blocks refuses the others: they are not asked for again. Any other exception may be the answer to an
   * earlier request, since it has no length: then this one's is still to come.
   */
  #exception(count: number, code: number): void {
    const at = this.#counts.indexOf(count);
    if (at > 0 && code <= lastRefusal) this.#counts.splice(at, 1);
    else if (this.#owed.size > 0) this.#owe(count);
  }
}
