import { SpikedError } from '../client/protocol/errors.js';
import { InputFile } from './input-file.js';

/** The number of ids, and the raw SentencePiece model that has them where there is one. */
export interface Tokenizer {
  bytes: Buffer | undefined;
  size: number;
}

const maxModelBytes = 64 << 20;

/** @throws SpikedError ERR_FILE_NOT_FOUND, ERR_FILE_IO, ERR_TOKENIZER_INVALID */
export async function readTokenizer(path: string): Promise<Tokenizer> {
  const file = await InputFile.open(path);
  try {
    if (file.sizeBytes > maxModelBytes)
      throw invalid(path, `at most ${maxModelBytes} bytes`, String(file.sizeBytes));
    const bytes = await file.read(0, file.sizeBytes);
    return { bytes, size: countPieces(path, bytes) };
  } finally {
    await file.close();
  }
}

// ModelProto: `repeated SentencePiece pieces = 1`, every one an id; a piece begins with its text, field 1.
const piecesTag = (1 << 3) | 2;

/** Ids in a SentencePiece ModelProto, found by walking its top-level fields. */
function countPieces(path: string, bytes: Buffer): number {
  let position = 0;
  let pieces = 0;

  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 64; shift += 7) {
      const byte = bytes[position++];
      if (byte === undefined) throw invalid(path, 'a whole SentencePiece model', 'its end inside a field');
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw invalid(path, 'a SentencePiece model', `no field at byte ${position}`);
  };

  while (position < bytes.length) {
    const start = position;
    const tag = varint();
    switch (tag & 7) {
      case 0:
        varint();
        break;
      case 1:
        position += 8;
        break;
      case 2:
        position = varint() + position;
        break;
      case 5:
        position += 4;
        break;
      default:
        throw invalid(path, 'a SentencePiece model', `no field at byte ${start}`);
    }
    if (position > bytes.length)
      throw invalid(path, 'a whole SentencePiece model', `a field at byte ${start} cut short`);
    if (tag === piecesTag) pieces++;
  }
  if (pieces === 0) throw invalid(path, 'a SentencePiece model', 'no pieces in it');
  return pieces;
}

function invalid(path: string, expected: string, found: string): SpikedError {
  return new SpikedError('ERR_TOKENIZER_INVALID', `${path}: expected ${expected}, found ${found}`);
}
