import { SpikedError } from './errors.js';
import { packr } from './encode.js';
import type { WireLimits } from './limits.js';
import { MessageScanner } from './scan.js';

export interface Frame {
  value: unknown;
  sizeBytes: number;
  /** False when some text in it is not UTF-8; such bytes read as U+FFFD. */
  utf8: boolean;
}

/** The stream cannot be followed any further. */
export class FrameError extends SpikedError {
  /** The request that the bad bytes began, when its header could still be read. */
  readonly messageId: number | null;

  constructor(code: 'ERR_RPC_INVALID' | 'ERR_RPC_TOO_LARGE', message: string, messageId: number | null) {
    super(code, message);
    this.messageId = messageId;
  }
}

const firstBytes = 4096;
/** More than a connection with small messages keeps. */
const keptBytes = 1 << 17;

/** Cuts a byte stream into messages. Holds at most one unfinished message and the chunk that came with it. */
export class FrameReader {
  private buffer = new Uint8Array(firstBytes);
  private start = 0;
  private end = 0;
  private readonly scanner: MessageScanner;

  constructor(private limits: WireLimits) {
    this.scanner = new MessageScanner(limits);
  }

  /** For the messages that begin from now on. */
  setLimits(limits: WireLimits): void {
    this.limits = limits;
    if (this.pendingBytes === 0) this.scanner.reset(limits);
  }

  /** Bytes of an unfinished message. */
  get pendingBytes(): number {
    return this.end - this.start;
  }

  push(chunk: Uint8Array): void {
    if (this.end + chunk.length > this.buffer.length) this.makeRoom(chunk.length);
    this.buffer.set(chunk, this.end);
    this.end += chunk.length;
  }

  /** The next whole message, or null until more bytes come. @throws FrameError; the reader is then of no further use */
  next(): Frame | null {
    const bytes = this.buffer.subarray(this.start, this.end);
    if (bytes.length === 0) return null;
    const result = this.scanner.scan(bytes);
    if (result.state === 'more') return null;
    if (result.state === 'bad') {
      throw new FrameError(
        result.tooLarge ? 'ERR_RPC_TOO_LARGE' : 'ERR_RPC_INVALID',
        result.reason,
        readMessageId(bytes),
      );
    }
    const frame = bytes.subarray(0, result.end);
    this.start += result.end;
    if (this.start === this.end) this.giveBack();
    this.scanner.reset(this.limits);
    return { value: decode(frame), sizeBytes: result.end, utf8: result.utf8 };
  }

  /** Nothing waits: the room that a large message took goes with it. */
  private giveBack(): void {
    if (this.buffer.length <= keptBytes) return;
    this.buffer = new Uint8Array(firstBytes);
    this.start = 0;
    this.end = 0;
  }

  private makeRoom(chunkBytes: number): void {
    const used = this.end - this.start;
    let capacity = this.buffer.length;
    while (used + chunkBytes > capacity) capacity *= 2;
    // A fresh buffer instead of moving bytes about: decoded binary values may still point into the old one.
    const grown = new Uint8Array(capacity);
    grown.set(this.buffer.subarray(this.start, this.end));
    this.buffer = grown;
    this.start = 0;
    this.end = used;
  }
}

function decode(frame: Uint8Array): unknown {
  try {
    return packr.unpack(frame);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new FrameError('ERR_RPC_INVALID', `a message cannot be decoded: ${detail}`, readMessageId(frame));
  }
}

/** The id of a request from its first bytes: 0x94, type 0, an unsigned integer up to 32 bits. */
function readMessageId(bytes: Uint8Array): number | null {
  if (bytes[0] !== 0x94 || bytes[1] !== 0) return null;
  const first = bytes[2];
  if (first === undefined) return null;
  if (first <= 0x7f) return first;
  const sizeBytes = { 0xcc: 1, 0xcd: 2, 0xce: 4 }[first];
  if (sizeBytes === undefined || bytes.length < 3 + sizeBytes) return null;
  return Buffer.from(bytes.buffer, bytes.byteOffset + 3, sizeBytes).readUIntBE(0, sizeBytes);
}
