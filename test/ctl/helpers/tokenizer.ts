/** A SentencePiece BPE model made by hand: the usual special ids, all bytes, letters, and a few merges. */

const control = 3;
const unknown = 2;
const byte = 6;

export function tinyTokenizer(): Buffer {
  const pieces: Buffer[] = [
    piece('<pad>', 0, control),
    piece('<s>', 0, control),
    piece('</s>', 0, control),
    piece('<unk>', 0, unknown),
  ];
  for (let value = 0; value < 256; value++)
    pieces.push(piece(`<0x${value.toString(16).toUpperCase().padStart(2, '0')}>`, 0, byte));
  const merges = ['\u2581t', 'th', '\u2581th', '\u2581the', 'he', 'in', 'er', 'an'];
  const letters = '\u2581abcdefghijklmnopqrstuvwxyz.,'.split('');
  for (const [rank, text] of [...merges, ...letters].entries()) pieces.push(piece(text, -rank, 1));
  return Buffer.concat([
    ...pieces.map((bytes) => field(1, bytes)),
    field(
      2,
      Buffer.concat([
        number(3, 2),
        number(35, 1),
        number(40, 3),
        number(41, 1),
        number(42, 2),
        number(43, 0),
      ]),
    ),
    field(3, Buffer.concat([field(1, Buffer.from('identity')), number(3, 1), number(4, 0), number(5, 1)])),
  ]);
}

function piece(text: string, score: number, type: number): Buffer {
  const value = Buffer.alloc(4);
  value.writeFloatLE(score);
  return Buffer.concat([field(1, Buffer.from(text)), varint((2 << 3) | 5), value, number(3, type)]);
}

function field(id: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint((id << 3) | 2), varint(bytes.length), bytes]);
}

function number(id: number, value: number): Buffer {
  return Buffer.concat([varint(id << 3), varint(value)]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}
