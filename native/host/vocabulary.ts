import type { PieceKind } from './piece-table.js';

/** What a tokenizer knows of its ids, whatever its kind. */
export interface Vocabulary {
  readonly kind: 'sentencepiece' | 'byte_bpe';
  readonly size: number;
  /** What a text begins with; undefined where the model wants nothing there. */
  readonly bosId: number | undefined;
  readonly eosId: number | undefined;
  /** Ids that end a text, or a turn of a conversation. */
  readonly stopIds: readonly number[];
  /** Of a token as the model writes it. */
  idOf(text: string): number | undefined;
  /** Undefined for an id that is none. */
  kindOf(id: number): PieceKind | undefined;
}

/** Turns ids into text one by one: the parts joined are the text of all of them, and none ends inside a UTF-8 sequence. */
export interface IdDecoder {
  /**
   * The text that `id` adds; "" when it only continues a character, or for control tokens.
   *
   * @throws SpikedError ERR_TOKEN_UNKNOWN
   */
  push(id: number): string;
  /** What is left when no id follows: bytes of an unfinished character, as U+FFFD each. */
  end(): string;
}
