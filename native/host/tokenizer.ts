import { Buffer } from 'node:buffer';
import { SpikedError } from '../../client/protocol/errors.js';
import { Detokenizer } from './detokenizer.js';
import { readPieceTable, type PieceTable } from './piece-table.js';
import { TokenizerThread } from './tokenizer-thread.js';

export interface TokenizerOptions {
  /** Longest text that encode takes, as UTF-8. */
  maxTextBytes?: number | undefined;
}

const defaultMaxTextBytes = 256 * 1024;

/** A SentencePiece tokenizer. It runs on a thread of its own, which starts again should it ever crash. */
export class Tokenizer {
  private closed = false;

  private constructor(
    readonly pieces: PieceTable,
    private readonly thread: TokenizerThread,
    private readonly maxTextBytes: number,
  ) {}

  /** @internal use openTokenizer */
  static async open(model: Uint8Array, options: TokenizerOptions): Promise<Tokenizer> {
    const pieces = readPieceTable(model);
    const thread = new TokenizerThread(Uint8Array.from(model));
    await thread.start();
    return new Tokenizer(pieces, thread, options.maxTextBytes ?? defaultMaxTextBytes);
  }

  /**
   * The ids of a text, without BOS. Text may come as bytes, of which those that are no UTF-8 count as U+FFFD each; in a string, a
   * lone surrogate counts as U+FFFD.
   *
   * @throws SpikedError ERR_TEXT_TOO_LONG, ERR_SESSION_CLOSED, ERR_TOKENIZER_INVALID when the tokenizer crashed over it
   */
  async encode(text: string | Uint8Array): Promise<Int32Array> {
    this.checkOpen();
    // A UTF-16 unit takes one byte at least: no need to convert what is too long anyway.
    if (text.length > this.maxTextBytes) throw this.tooLong(Buffer.byteLength(text));
    const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : Uint8Array.from(text);
    if (bytes.length > this.maxTextBytes) throw this.tooLong(bytes.length);
    return this.thread.encode(bytes);
  }

  /**
   * The text of ids. Ours, not the library's: that loses a BOM at the start.
   *
   * @throws SpikedError ERR_TOKEN_UNKNOWN, ERR_SESSION_CLOSED
   */
  async decode(ids: ArrayLike<number>): Promise<string> {
    this.checkOpen();
    const detokenizer = this.detokenizer();
    return Array.from(ids, (id) => detokenizer.push(id)).join('') + detokenizer.end();
  }

  /** A decoder for ids that come one by one. */
  detokenizer(): Detokenizer {
    return new Detokenizer(this.pieces);
  }

  /** Ends the thread; calls under way are rejected with ERR_SESSION_CLOSED. */
  async close(): Promise<void> {
    this.closed = true;
    await this.thread.close();
  }

  private checkOpen(): void {
    if (this.closed)
      throw new SpikedError('ERR_SESSION_CLOSED', 'tokenizer: expected an open one, found it closed');
  }

  private tooLong(length: number): SpikedError {
    const most = String(this.maxTextBytes);
    return new SpikedError(
      'ERR_TEXT_TOO_LONG',
      `text: expected at most ${most} bytes of UTF-8, found ${String(length)}`,
    );
  }
}

/**
 * Opens a tokenizer from the bytes of a SentencePiece `.model` file.
 *
 * @throws SpikedError ERR_TOKENIZER_INVALID when they are none
 */
export function openTokenizer(model: Uint8Array, options: TokenizerOptions = {}): Promise<Tokenizer> {
  return Tokenizer.open(model, options);
}
