import { Buffer } from 'node:buffer';
import { SpikedError } from '../../../client/protocol/errors.js';
import { ByteRun } from '../byte-run.js';
import type { PieceKind } from '../piece-table.js';
import type { IdDecoder, Vocabulary } from '../vocabulary.js';
import { readMapped } from './byte-level.js';
import type { BpeSource } from './source.js';
import { tokenType, type BpeTables } from './tables.js';
import { TokenIndex } from './token-index.js';

/** Tokens that count by their name, because published files are not known to have the keys that give their ids. */
const names = { bos: '<|begin_of_text|>', endOfText: '<|end_of_text|>', endOfTurn: '<|eot_id|>' } as const;
const firstByteBeyondAscii = 0x80;

/** The ids of a byte-level BPE tokenizer. */
export class BpeVocabulary implements Vocabulary {
  readonly kind = 'byte_bpe';
  readonly size: number;
  readonly bosId: number | undefined;
  readonly eosId: number | undefined;
  readonly stopIds: readonly number[];
  private readonly index: TokenIndex;
  private readonly silent: ReadonlySet<number>;

  constructor(
    private readonly tables: BpeTables,
    source: BpeSource,
  ) {
    this.size = tables.tokens.length;
    this.index = new TokenIndex(tables.tokens, tables.slots);
    const bosId = source.bosId ?? this.idOf(names.bos);
    const endOfText = this.idOf(names.endOfText);
    this.bosId = source.addBos ? bosId : undefined;
    this.eosId = source.eosId ?? endOfText;
    const ends = [this.eosId, endOfText, this.idOf(names.endOfTurn)];
    this.stopIds = [...new Set(ends.filter((id) => id !== undefined))];
    this.silent = new Set([...this.stopIds, ...(bosId === undefined ? [] : [bosId])]);
  }

  idOf(text: string): number | undefined {
    const bytes = new TextEncoder().encode(text);
    const id = this.index.find(bytes, 0, bytes.length);
    return id < 0 ? undefined : id;
  }

  kindOf(id: number): PieceKind | undefined {
    if (this.silent.has(id)) return 'control';
    switch (this.tables.types[id]) {
      case undefined:
        return undefined;
      case tokenType.unknown:
        return 'unknown';
      case tokenType.control:
        return 'control';
      case tokenType.userDefined:
        return 'user_defined';
      case tokenType.unused:
        return 'unused';
      default: {
        const [first = 0, ...others] = this.bytesOf(id);
        return others.length === 0 && first >= firstByteBeyondAscii ? 'byte' : 'normal';
      }
    }
  }

  /** What a token that is shown stands for: as written, unless it is a normal one. */
  bytesOf(id: number): readonly number[] {
    const { tokens, types } = this.tables;
    const [start = 0, end = 0] = tokens.starts.subarray(id, id + 2);
    const mapped = types[id] === tokenType.normal ? readMapped(tokens.text, start, end) : null;
    return mapped ?? [...Buffer.from(tokens.text.subarray(start, end))];
  }

  decoder(): IdDecoder {
    return new BpeDecoder(this);
  }
}

class BpeDecoder implements IdDecoder {
  private readonly bytes = new ByteRun();

  constructor(private readonly vocabulary: BpeVocabulary) {}

  push(id: number): string {
    const kind = this.vocabulary.kindOf(id);
    if (kind === undefined) throw this.unknown(id);
    if (kind === 'control') return this.bytes.end();
    return this.vocabulary
      .bytesOf(id)
      .map((byte) => this.bytes.push(byte))
      .join('');
  }

  end(): string {
    return this.bytes.end();
  }

  private unknown(id: number): SpikedError {
    const last = String(this.vocabulary.size - 1);
    return new SpikedError(
      'ERR_TOKEN_UNKNOWN',
      `token: expected an id from 0 to ${last}, found ${String(id)}`,
    );
  }
}
