import { SpikedError } from '../../client/protocol/errors.js';
import { bytesOf, fields, textOf, u32Of, WireError, type Field } from './protobuf.js';
import type { Vocabulary } from './vocabulary.js';

/** Chat models end their turn with it. */
const endOfAssistant = '<|endofassistant|>';

const kinds = ['normal', 'unknown', 'control', 'user_defined', 'unused', 'byte'] as const;
export type PieceKind = (typeof kinds)[number];

export interface Piece {
  /** As the model writes it: a space is U+2581. */
  text: string;
  kind: PieceKind;
  /** The byte that a piece of kind `byte` stands for. */
  byte: number | undefined;
}

/** What a SentencePiece model says of its pieces; an id is an index. */
export interface PieceTable extends Vocabulary {
  readonly kind: 'sentencepiece';
  readonly pieces: readonly Piece[];
  readonly unkId: number | undefined;
  readonly padId: number | undefined;
  /** What an unknown piece decodes to. */
  readonly unkSurface: string;
  /** Whether decoding drops a leading space, and whether it does so before every piece until there is text. */
  readonly dropsLeadingSpace: 'never' | 'once' | 'until_text';
}

function readPiece(message: Uint8Array): Piece {
  let text = '';
  let kind: PieceKind = 'normal';
  for (const field of fields(message)) {
    if (field.number === 1) text = textOf(field);
    if (field.number === 3) {
      const found = kinds[u32Of(field) - 1];
      if (found === undefined)
        throw new WireError(`piece "${text}": expected a type from 1 to 6, found ${String(u32Of(field))}`);
      kind = found;
    }
  }
  if (text === '') throw new WireError('a piece: expected a text, found none');
  if (kind !== 'byte') return { text, kind, byte: undefined };
  const hex = /^<0x([0-9A-F]{2})>$/.exec(text)?.[1];
  if (hex === undefined) throw new WireError(`byte piece "${text}": expected the form <0xAB>`);
  return { text, kind, byte: parseInt(hex, 16) };
}

/** The names under which the trainer keeps the special pieces, and what <unk> decodes to. */
function readTrainer(message: Uint8Array): {
  unk: string;
  bos: string;
  eos: string;
  pad: string;
  surface: string;
} {
  const found = { unk: '<unk>', bos: '<s>', eos: '</s>', pad: '<pad>', surface: ' \u2047 ' };
  for (const field of fields(message)) {
    if (field.number === 44) found.surface = textOf(field);
    if (field.number === 45) found.unk = textOf(field);
    if (field.number === 46) found.bos = textOf(field);
    if (field.number === 47) found.eos = textOf(field);
    if (field.number === 48) found.pad = textOf(field);
  }
  return found;
}

function readNormalizer(message: Uint8Array): { dummyPrefix: boolean; removeExtraSpaces: boolean } {
  const found = { dummyPrefix: true, removeExtraSpaces: true };
  for (const field of fields(message)) {
    if (field.number === 3) found.dummyPrefix = u32Of(field) !== 0;
    if (field.number === 4) found.removeExtraSpaces = u32Of(field) !== 0;
  }
  return found;
}

/** A denormaliser rewrites the decoded text as a whole, which a stream of pieces cannot follow. */
function refuseDenormalizer(message: Uint8Array): void {
  for (const field of fields(message))
    if (field.number === 2 && bytesOf(field).length > 0)
      throw new WireError('denormalizer_spec: expected no rules, found some');
}

function build(model: Uint8Array): PieceTable {
  const pieces: Piece[] = [];
  let trainer = readTrainer(new Uint8Array());
  let normalizer = readNormalizer(new Uint8Array());
  const read = (field: Field): void => {
    if (field.number === 1) pieces.push(readPiece(bytesOf(field)));
    if (field.number === 2) trainer = readTrainer(bytesOf(field));
    if (field.number === 3) normalizer = readNormalizer(bytesOf(field));
    if (field.number === 5) refuseDenormalizer(bytesOf(field));
  };
  for (const field of fields(model)) read(field);
  if (pieces.length === 0) throw new WireError('expected pieces, found none');

  const ids = new Map(pieces.map(({ text }, id) => [text, id]));
  if (ids.size !== pieces.length) throw new WireError('pieces: expected different texts, found one twice');
  const special = (text: string, kind: PieceKind): number | undefined => {
    const id = ids.get(text);
    return id !== undefined && pieces[id]?.kind === kind ? id : undefined;
  };
  const drops = normalizer.dummyPrefix ? 'once' : 'never';
  const eosId = special(trainer.eos, 'control');
  return {
    kind: 'sentencepiece',
    pieces,
    size: pieces.length,
    bosId: special(trainer.bos, 'control'),
    eosId,
    stopIds: [eosId, ids.get(endOfAssistant)].filter((id) => id !== undefined),
    unkId: special(trainer.unk, 'unknown'),
    padId: special(trainer.pad, 'control'),
    unkSurface: trainer.surface,
    dropsLeadingSpace: normalizer.removeExtraSpaces ? 'until_text' : drops,
    idOf: (text) => ids.get(text),
    kindOf: (id) => pieces[id]?.kind,
  };
}

/**
 * Reads the pieces of a SentencePiece `.model` file.
 *
 * @throws SpikedError ERR_TOKENIZER_INVALID when the bytes are no such model
 */
export function readPieceTable(model: Uint8Array): PieceTable {
  try {
    return build(model);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new SpikedError(
      'ERR_TOKENIZER_INVALID',
      `tokenizer: expected a SentencePiece model: ${error.message}`,
    );
  }
}
