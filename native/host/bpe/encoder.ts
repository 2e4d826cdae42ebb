import { writeMapped } from './byte-level.js';
import { mergePiece } from './merge-piece.js';
import { splitText } from './split.js';
import { tokenType, type BpeTables } from './tables.js';
import { TokenIndex } from './token-index.js';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Text to ids by byte-level BPE. Control tokens never come out of a text. */
export class BpeEncoder {
  private readonly index: TokenIndex;
  private bytes = new Uint8Array(256);
  private mapped = new Uint8Array(512);

  constructor(private readonly tables: BpeTables) {
    this.index = new TokenIndex(tables.tokens, tables.slots);
  }

  /** @throws TypeError when the text is no UTF-8 */
  encode(text: Uint8Array): Int32Array {
    const ids: number[] = [];
    for (const piece of splitText(utf8.decode(text))) {
      this.reserve(3 * piece.length);
      const { written } = new TextEncoder().encodeInto(piece, this.bytes);
      const whole = this.wholePiece(written);
      if (whole >= 0) ids.push(whole);
      else for (const id of this.merged(written)) ids.push(id);
    }
    return Int32Array.from(ids);
  }

  /** A piece that is a token stays whole, whatever the merges would make of it (ignore_merges). */
  private wholePiece(length: number): number {
    const id = this.index.find(this.mapped, 0, writeMapped(this.bytes, length, this.mapped));
    return id >= 0 && this.tables.types[id] === tokenType.normal ? id : -1;
  }

  private merged(length: number): Int32Array {
    const { byteIds, merges } = this.tables;
    return mergePiece(
      Int32Array.from(this.bytes.subarray(0, length), (byte) => byteIds[byte] ?? 0),
      merges,
    );
  }

  private reserve(size: number): void {
    if (this.bytes.length >= size) return;
    this.bytes = new Uint8Array(2 * size);
    this.mapped = new Uint8Array(4 * size);
  }
}
