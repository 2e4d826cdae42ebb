import { answerLength, encodeRequest, findFrame, findHead, type Found, type ReadRequest } from './frame.js';
import type { Frame } from '../meter.js';

export type Outcome =
  | {
      readonly kind: 'answer';
      /** The registers' bytes, as they came. */
      readonly payload: Uint8Array;
      readonly tNs: bigint;
      readonly checksum: boolean;
    }
  | { readonly kind: 'exception'; readonly code: number }
  /** An answer that began as it should and is not whole, or whole and wrong. */
  | { readonly kind: 'bad' };

/** A wrong checksum: drop the answer, give it away marked, or take it as good, from a unit that never sends a right one. */
export type Tolerance = 'strict' | 'warn' | 'ignore';

const anyDevice = 0xf8;

/** The bytes that came since a request was sent, and what they are. */
export class Pending {
  #bytes: Uint8Array = new Uint8Array();
  #tNs = 0n;
  /** The time for the answer is over: what comes is recorded as late. */
  expired = false;
  /** Addresses of devices that were not asked and answered. */
  readonly strangers = new Set<number>();

  /**
   * @param owed      counts of earlier requests without an answer: a frame of such a count is that answer, late, and is owed no more
   * @param received  gets every piece of the stream once
   */
  constructor(
    readonly request: ReadRequest,
    private readonly owed: Set<number>,
    private readonly received: (frame: Omit<Frame, 'direction'>) => void,
  ) {}

  /** Whether the answer has begun to come, or bytes of its length came: then nothing more is to be waited for. */
  get began(): boolean {
    return this.isWhole || findHead(this.#bytes, this.request) !== undefined;
  }

  /** Bytes without an explanation. */
  get rest(): Uint8Array {
    return this.#bytes;
  }

  /** New bytes; the outcome if they complete one. */
  add(bytes: Uint8Array, tNs: bigint): Outcome | undefined {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
    this.#tNs = tNs;
    for (;;) {
      const found = findFrame(this.#bytes, this.request.functionCode);
      if (found === undefined) return undefined;
      this.#junk(found.at);
      const frame = this.#take(found.length);
      if (this.#isOurs(found)) return this.#outcome(found, frame);
      const ours = this.#isAsked(found.slave);
      const late = ours && found.kind === 'answer' && this.owed.delete(found.count);
      if (!ours) this.strangers.add(found.slave);
      this.received({ tNs, bytes: frame, fault: late ? 'late' : 'unexpected' });
    }
  }

  /** Nothing more comes: what there is, given away. */
  end(crc: Tolerance): Outcome | undefined {
    const found = findHead(this.#bytes, this.request);
    const tNs = this.#tNs;
    if (found === undefined) {
      const { isWhole } = this;
      if (isWhole) this.received({ tNs, bytes: this.#take(this.#bytes.length), fault: 'checksum' });
      else this.#junk(this.#bytes.length);
      return isWhole ? { kind: 'bad' } : undefined;
    }
    this.#junk(found.at);
    const whole = this.#bytes.length >= found.length;
    const frame = this.#take(Math.min(found.length, this.#bytes.length));
    this.received({
      tNs,
      bytes: frame,
      fault: !whole ? 'torn' : crc === 'ignore' ? 'unchecked' : 'checksum',
    });
    this.#junk(this.#bytes.length);
    return whole && crc !== 'strict'
      ? { kind: 'answer', payload: frame.subarray(3, -2), tNs, checksum: false }
      : { kind: 'bad' };
  }

  /** Whether as many bytes came as the answer has, from its first bytes on, or, where those are wrong too, in all. */
  get isWhole(): boolean {
    const length = answerLength(this.request.count);
    const found = findHead(this.#bytes, this.request);
    return found === undefined ? this.#bytes.length === length : this.#bytes.length >= found.at + length;
  }

  #isOurs(found: Found): boolean {
    const fits = found.kind === 'exception' || found.count === this.request.count;
    return fits && this.#isAsked(found.slave);
  }

  #isAsked(slave: number): boolean {
    return slave === this.request.slave || this.request.slave === anyDevice;
  }

  #outcome(found: Found, frame: Uint8Array): Outcome {
    const tNs = this.#tNs;
    // An exception may be the answer to the other request that is owed one.
    if (this.expired && (found.kind === 'answer' || this.owed.size === 1))
      this.owed.delete(this.request.count);
    if (found.kind === 'exception') {
      this.received({ tNs, bytes: frame, fault: 'exception' });
      return { kind: 'exception', code: found.code };
    }
    this.received({ tNs, bytes: frame, ...(this.expired ? { fault: 'late' as const } : {}) });
    return { kind: 'answer', payload: frame.subarray(3, -2), tNs, checksum: true };
  }

  #take(length: number): Uint8Array {
    const taken = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    return taken;
  }

  /** Bytes that belong to no frame: the request's own echo of a two-wire adapter, an answer's beginning, or noise. */
  #junk(length: number): void {
    if (length === 0) return;
    const echo = encodeRequest(this.request);
    if (length >= echo.length && echo.every((byte, i) => this.#bytes[i] === byte)) {
      this.received({ tNs: this.#tNs, bytes: this.#take(echo.length), fault: 'unexpected' });
      this.#junk(length - echo.length);
      return;
    }
    const bytes = this.#take(length);
    const answer = bytes[0] === this.request.slave && bytes[1] === this.request.functionCode;
    this.received({ tNs: this.#tNs, bytes, fault: answer ? 'torn' : 'noise' });
  }
}
