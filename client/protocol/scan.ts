import { isUtf8 } from 'node:buffer';
import type { WireLimits } from './limits.js';

export type ScanResult =
  | { state: 'more' }
  | { state: 'done'; end: number; utf8: boolean }
  | { state: 'bad'; reason: string; tooLarge: boolean };

const more: ScanResult = { state: 'more' };

/**
 * Finds the end of one MessagePack value without decoding it, and refuses what breaks the limits from the headers alone, so
 * that a few bytes can never make the decoder allocate. Resumable: the work is linear in the bytes, however they arrive.
 *
 * Refused besides limits: 0xc1 (no type has it) and extension types (the protocol uses none, and a decoder runs code for them).
 * Text that is not UTF-8 is only reported: the message's end is known, so it can be answered.
 */
export class MessageScanner {
  private position = 0;
  /** Values still to come at each open level; the outermost is the message itself. */
  private readonly open: number[] = [1];
  private utf8 = true;

  constructor(private limits: WireLimits) {}

  /** Starts at the first byte of a new message. */
  reset(limits: WireLimits = this.limits): void {
    this.limits = limits;
    this.position = 0;
    this.utf8 = true;
    this.open.length = 1;
    this.open[0] = 1;
  }

  /**
   * Goes on where the last call stopped.
   *
   * @param bytes everything from the message's first byte that has arrived
   */
  scan(bytes: Uint8Array): ScanResult {
    for (;;) {
      if (this.position > bytes.length) return more;
      if (this.open.length === 0) return { state: 'done', end: this.position, utf8: this.utf8 };
      if (this.position === bytes.length) return more;
      const stop = this.value(bytes);
      if (stop) return stop;
    }
  }

  /** Passes one header and its payload; returns a result where the scan must stop. */
  private value(bytes: Uint8Array): ScanResult | null {
    const first = bytes[this.position] ?? 0xc1;
    if (first <= 0x7f || first >= 0xe0) return this.scalar(1);
    if (first <= 0x8f) return this.container(1, (first & 0x0f) * 2, first & 0x0f);
    if (first <= 0x9f) return this.container(1, first & 0x0f, first & 0x0f);
    if (first <= 0xbf) return this.text(bytes, 1, first & 0x1f);
    const fixed = fixedSize[first - 0xc0] ?? 0;
    if (fixed > 0) return this.scalar(fixed);
    const lengthBytes = lengthSize[first - 0xc0] ?? 0;
    if (lengthBytes === 0) {
      const what = first === 0xc1 ? 'byte 0xc1' : `extension type (byte 0x${first.toString(16)})`;
      return { state: 'bad', reason: `expected plain MessagePack, found ${what}`, tooLarge: false };
    }
    if (this.position + 1 + lengthBytes > bytes.length)
      return this.checkSize(this.position + 1 + lengthBytes) ?? more;
    let length = 0;
    for (let i = 1; i <= lengthBytes; i++) length = length * 256 + (bytes[this.position + i] ?? 0);
    if (first <= 0xc6) return this.scalar(1 + lengthBytes + length);
    if (first <= 0xdb) return this.text(bytes, 1 + lengthBytes, length);
    const isMap = first >= 0xde;
    return this.container(1 + lengthBytes, isMap ? length * 2 : length, length);
  }

  private scalar(sizeBytes: number): ScanResult | null {
    const bad = this.checkSize(this.position + sizeBytes);
    if (bad) return bad;
    this.position += sizeBytes;
    this.closeFinished();
    return null;
  }

  /** Waits for the whole text, so that its bytes can be checked at once. */
  private text(bytes: Uint8Array, headerBytes: number, sizeBytes: number): ScanResult | null {
    const start = this.position + headerBytes;
    const bad = this.checkSize(start + sizeBytes);
    if (bad) return bad;
    if (start + sizeBytes > bytes.length) return more;
    this.utf8 &&= isUtf8(bytes.subarray(start, start + sizeBytes));
    return this.scalar(headerBytes + sizeBytes);
  }

  private container(headerBytes: number, children: number, items: number): ScanResult | null {
    const { maxItems, maxDepth } = this.limits;
    if (items > maxItems)
      return refuse(`expected at most ${maxItems} items in an array or map, found ${items}`);
    if (this.open.length > maxDepth)
      return refuse(`expected at most ${maxDepth} levels of nesting, found more`);
    // Each child takes a byte at least: a declared count alone can already be too large.
    const bad = this.checkSize(this.position + headerBytes + children);
    if (bad) return bad;
    this.position += headerBytes;
    this.open.push(children);
    if (children === 0) {
      this.open.pop();
      this.closeFinished();
    }
    return null;
  }

  /** One value is complete: counts it at its level and at every level that ends with it. */
  private closeFinished(): void {
    for (;;) {
      const left = (this.open[this.open.length - 1] ?? 1) - 1;
      if (left > 0) {
        this.open[this.open.length - 1] = left;
        return;
      }
      this.open.pop();
      if (this.open.length === 0) return;
    }
  }

  private checkSize(needed: number): ScanResult | null {
    const { maxFrameBytes } = this.limits;
    if (needed <= maxFrameBytes) return null;
    const reason = `expected a message of at most ${maxFrameBytes} bytes, found at least ${needed}`;
    return { state: 'bad', reason, tooLarge: true };
  }
}

function refuse(reason: string): ScanResult {
  return { state: 'bad', reason, tooLarge: false };
}

/** Whole size of the types 0xc0…0xdf that have a fixed one. */
//                 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 ca cb cc cd ce cf d0 d1 d2 d3
const fixedSize = [1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 5, 9, 2, 3, 5, 9, 2, 3, 5, 9];

/** Bytes of the length that follows: bin 8/16/32, str 8/16/32, array 16/32, map 16/32. */
const lengthSize: readonly number[] = Object.assign(new Array<number>(32).fill(0), {
  4: 1,
  5: 2,
  6: 4,
  25: 1,
  26: 2,
  27: 4,
  28: 2,
  29: 4,
  30: 2,
  31: 4,
});
