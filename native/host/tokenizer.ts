import { Buffer, isUtf8 } from 'node:buffer';
import { SpikedError } from '../../client/protocol/errors.js';
import { readBpeSource, type BpeSource } from './bpe/source.js';
import type { BpeTables } from './bpe/tables.js';
import { BpeVocabulary } from './bpe/vocabulary.js';
import type { BpeWorkerData } from './bpe/worker.js';
import { Detokenizer } from './detokenizer.js';
import { describeModel, readFileBytes } from './model-file.js';
import { readPieceTable } from './piece-table.js';
import { TokenizerThread, type TokenizerProgram } from './tokenizer-thread.js';
import type { IdDecoder, Vocabulary } from './vocabulary.js';

export interface TokenizerOptions {
  /** Longest text that encode takes, as UTF-8. */
  maxTextBytes?: number | undefined;
}

const defaultMaxTextBytes = 256 * 1024;

/** A tokenizer. It runs on a thread of its own, which starts again should it ever crash. */
export class Tokenizer {
  private closed = false;

  private constructor(
    readonly pieces: Vocabulary,
    /** A decoder for ids that come one by one. */
    readonly detokenizer: () => IdDecoder,
    private readonly thread: TokenizerThread,
    private readonly maxTextBytes: number,
  ) {}

  /** @internal use openTokenizer */
  static async openSentencePiece(model: Uint8Array, options: TokenizerOptions): Promise<Tokenizer> {
    const pieces = readPieceTable(model);
    const thread = new TokenizerThread({
      url: new URL('./tokenizer-worker.js', import.meta.url),
      data: { model: Uint8Array.from(model) },
      expected: 'a SentencePiece model',
    });
    await thread.start();
    const decoder = (): IdDecoder => new Detokenizer(pieces);
    return new Tokenizer(pieces, decoder, thread, options.maxTextBytes ?? defaultMaxTextBytes);
  }

  /** @internal use openModelTokenizer */
  static async openBpe(source: BpeSource, options: TokenizerOptions): Promise<Tokenizer> {
    const data = (given: BpeWorkerData): BpeWorkerData => given;
    const program: TokenizerProgram = {
      url: new URL('./bpe/worker.js', import.meta.url),
      data: data({ source }),
      expected: 'a byte-level BPE vocabulary',
    };
    const thread = new TokenizerThread(program);
    const tables = (await thread.start()) as BpeTables;
    program.data = data({ tables });
    const pieces = new BpeVocabulary(tables, source);
    const decoder = (): IdDecoder => pieces.decoder();
    return new Tokenizer(pieces, decoder, thread, options.maxTextBytes ?? defaultMaxTextBytes);
  }

  /**
   * The ids of a text, without BOS; names of control tokens in it are plain text. Text may come as bytes. What is no Unicode text, such bytes or
   * a lone surrogate, byte-level BPE refuses and SentencePiece takes as U+FFFD each.
   *
   * @throws SpikedError ERR_TEXT_TOO_LONG, ERR_SESSION_CLOSED, ERR_TOKENIZER_INVALID when the tokenizer crashed over it
   * @throws SpikedError ERR_INVALID_ARGUMENT for text that is refused
   */
  async encode(text: string | Uint8Array): Promise<Int32Array> {
    this.checkOpen();
    this.checkLength(text);
    const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : Uint8Array.from(text);
    if (this.pieces.kind === 'byte_bpe') requireUnicode(text, bytes);
    return this.thread.encode(bytes);
  }

  /** @throws SpikedError ERR_TEXT_TOO_LONG for what encode would not take */
  checkLength(text: string | Uint8Array): void {
    const length = typeof text === 'string' ? Buffer.byteLength(text) : text.length;
    if (length > this.maxTextBytes) throw this.tooLong(length);
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

function requireUnicode(text: string | Uint8Array, bytes: Uint8Array): void {
  if (typeof text === 'string' ? text.isWellFormed() : isUtf8(bytes)) return;
  const found = typeof text === 'string' ? 'a surrogate without its other half' : 'bytes that are no UTF-8';
  throw new SpikedError('ERR_INVALID_ARGUMENT', `text: expected Unicode, found ${found}`);
}

/**
 * Opens a tokenizer from the bytes of a SentencePiece `.model` file.
 *
 * @throws SpikedError ERR_TOKENIZER_INVALID when they are none
 */
export function openTokenizer(model: Uint8Array, options: TokenizerOptions = {}): Promise<Tokenizer> {
  return Tokenizer.openSentencePiece(model, options);
}

/**
 * Opens the tokenizer inside a model file: a SentencePiece model, or byte-level BPE in GGUF's own keys. Null when there is none.
 *
 * @throws SpikedError ERR_TOKENIZER_INVALID naming the metadata key, ERR_MODEL_INVALID, ERR_FILE_NOT_FOUND, ERR_FILE_IO, ERR_MODEL_FILE_CHANGED
 */
export async function openModelTokenizer(
  path: string,
  options: TokenizerOptions = {},
): Promise<Tokenizer | null> {
  const file = await describeModel(path);
  try {
    if (file.tokenizer !== undefined)
      return await Tokenizer.openSentencePiece(await readFileBytes(path, file.tokenizer), options);
    const source = readBpeSource(file);
    return source === undefined ? null : await Tokenizer.openBpe(source, options);
  } catch (error) {
    if (!(error instanceof SpikedError) || error.message.startsWith(path)) throw error;
    throw new SpikedError(error.code, `${path}: ${error.message}`, { cause: error });
  }
}
