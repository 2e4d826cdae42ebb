import { SpikedError } from '../../client/protocol/errors.js';
import { ByteRun } from './byte-run.js';
import type { PieceTable } from './piece-table.js';
import type { IdDecoder } from './vocabulary.js';

const space = '\u2581';

/**
 * Turns ids into text one by one: the pieces joined are exactly what SentencePiece decodes from all of them, and none ends inside a
 * UTF-8 sequence.
 */
export class Detokenizer implements IdDecoder {
  private readonly bytes = new ByteRun();
  private hasText = false;
  private mayDropSpace: boolean;
  private droppedSpace = false;

  constructor(private readonly table: PieceTable) {
    this.mayDropSpace = table.dropsLeadingSpace !== 'never';
  }

  /**
   * The text that `id` adds; "" when it only continues a character, or for control pieces.
   *
   * @throws SpikedError ERR_TOKEN_UNKNOWN
   */
  push(id: number): string {
    const piece = this.table.pieces[id];
    if (piece === undefined) throw this.unknown(id);
    if (piece.byte !== undefined) {
      this.hasText = true; // as something, if only U+FFFD, it will be
      return this.bytes.push(piece.byte);
    }
    const text = this.bytes.end() + this.surface(piece.text, piece.kind);
    if (text !== '') this.hasText = true;
    return text;
  }

  /** What is left when no id follows. */
  end(): string {
    return this.bytes.end();
  }

  private surface(text: string, kind: string): string {
    if (this.hasText || this.droppedSpace) this.mayDropSpace = false;
    this.droppedSpace = false;
    if (kind === 'control') return '';
    if (kind === 'unknown') return this.table.unkSurface;
    const drop = this.mayDropSpace && text.startsWith(space);
    this.droppedSpace = drop && this.table.dropsLeadingSpace === 'once';
    return (drop ? text.slice(space.length) : text).replaceAll(space, ' ');
  }

  private unknown(id: number): SpikedError {
    const last = String(this.table.size - 1);
    return new SpikedError(
      'ERR_TOKEN_UNKNOWN',
      `token: expected an id from 0 to ${last}, found ${String(id)}`,
    );
  }
}
