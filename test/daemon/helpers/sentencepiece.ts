/** A small SentencePiece model made by hand: special pieces, all 256 bytes, letters and a few words. */

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) + 128);
  }
}

const number = (field: number, value: number): Buffer =>
  Buffer.from([...varint(field * 8), ...varint(value)]);

function bytes(field: number, value: Uint8Array | string): Buffer {
  const content = Buffer.from(value);
  return Buffer.concat([Buffer.from([...varint(field * 8 + 2), ...varint(content.length)]), content]);
}

function float(field: number, value: number): Buffer {
  const content = Buffer.alloc(4);
  content.writeFloatLE(value);
  return Buffer.concat([Buffer.from(varint(field * 8 + 5)), content]);
}

const kinds = { normal: 1, unknown: 2, control: 3, byte: 6 };

export const bosId = 1;
export const eosId = 2;
/** The id of byte 0; the others follow. */
export const firstByteId = 3;

const words = [
  '\u2581',
  ...'abcdefghijklmnopqrstuvwxyz'.split(''),
  '\u2581the',
  '\u2581a',
  'ing',
  '能',
  '\u2581to',
];

/** Its ids: 0 to `tokenizerSize` - 1. */
export const tokenizerSize = firstByteId + 256 + words.length;

export function sentencePieceModel(): Buffer {
  const piece = (text: string, score: number, kind: keyof typeof kinds): Buffer =>
    bytes(1, Buffer.concat([bytes(1, text), float(2, score), number(3, kinds[kind])]));
  const byteName = (value: number): string => `<0x${value.toString(16).toUpperCase().padStart(2, '0')}>`;
  const unigram = 1;
  return Buffer.concat([
    piece('<unk>', 0, 'unknown'),
    piece('<s>', 0, 'control'),
    piece('</s>', 0, 'control'),
    ...Array.from({ length: 256 }, (_, value) => piece(byteName(value), 0, 'byte')),
    ...words.map((word) => piece(word, word.length > 1 ? -2 : -4, 'normal')),
    bytes(2, Buffer.concat([number(3, unigram), number(4, tokenizerSize), number(35, 1)])),
    bytes(3, Buffer.concat([bytes(1, 'identity'), number(3, 1), number(4, 0), number(5, 1)])),
  ]);
}
