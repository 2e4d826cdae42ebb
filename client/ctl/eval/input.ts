import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { openModelTokenizer, type ModelInfo } from '../../../native/host/index.js';
import { SpikedError } from '../../protocol/errors.js';

export interface EvalInput {
  ids: Int32Array;
  /** Of a BOS for the windows; undefined where the model has no tokenizer or its tokenizer no BOS. */
  bosId: number | undefined;
  /** Hex, of the file as it is. */
  fileSha256: string;
  /** Hex, of the ids as little-endian 32-bit integers: the same for a text and the ids it becomes. */
  idsSha256: string;
  /** Of a text file; undefined for ids. */
  textBytes: number | undefined;
}

export type InputFile = { text: string } | { ids: string };

/**
 * The ids to score.
 *
 * @throws SpikedError ERR_PROMPT_EMPTY for an empty file, or one of fewer than two ids
 * @throws SpikedError ERR_INVALID_ARGUMENT for what is no id, ERR_TOKEN_UNKNOWN for one that the model lacks; both name its index
 * @throws SpikedError ERR_TOKENIZER_MISSING, ERR_FILE_NOT_FOUND, ERR_FILE_IO
 */
export async function readInput(modelPath: string, info: ModelInfo, file: InputFile): Promise<EvalInput> {
  const path = 'text' in file ? file.text : file.ids;
  const bytes = await readFile(path);
  if (bytes.length === 0)
    throw new SpikedError('ERR_PROMPT_EMPTY', `${path}: expected a text, found an empty file`);
  if (!isUtf8(bytes))
    throw new SpikedError('ERR_INVALID_ARGUMENT', `${path}: expected UTF-8, found other bytes`);
  const { ids, bosId } = await idsOf(modelPath, file, bytes);
  if (ids.length < 2)
    throw new SpikedError('ERR_PROMPT_EMPTY', `${path}: expected at least two tokens, found ${ids.length}`);
  requireKnown(path, ids, info.validVocabSize);
  return {
    ids,
    bosId,
    fileSha256: sha256(bytes),
    idsSha256: sha256(new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength)),
    textBytes: 'text' in file ? bytes.length : undefined,
  };
}

async function idsOf(modelPath: string, file: InputFile, bytes: Buffer) {
  // The whole text at once: pieces do not end where some block would.
  const opened = await openModelTokenizer(modelPath, { maxTextBytes: bytes.length });
  if (!opened) {
    if ('ids' in file) return { ids: parseIds(file.ids, bytes.toString('utf8')), bosId: undefined };
    throw new SpikedError(
      'ERR_TOKENIZER_MISSING',
      `${modelPath}: --text: expected a tokenizer inside, found none; give its ids with --ids`,
    );
  }
  try {
    const ids = 'ids' in file ? parseIds(file.ids, bytes.toString('utf8')) : await opened.encode(bytes);
    return { ids, bosId: opened.pieces.bosId };
  } finally {
    await opened.close();
  }
}

/** Integers apart by spaces, line ends or commas; a JSON array is such a text, too. */
export function parseIds(path: string, text: string): Int32Array {
  const words = text.replace(/^\s*\[|\]\s*$/g, '').match(/[^\s,]+/g) ?? [];
  return Int32Array.from(words, (word, i) => {
    if (/^\d{1,9}$/.test(word)) return Number(word);
    throw new SpikedError(
      'ERR_INVALID_ARGUMENT',
      `${path}: token ${i}: expected an id, found "${word.slice(0, 40)}"`,
    );
  });
}

function requireKnown(path: string, ids: Int32Array, size: number): void {
  const at = ids.findIndex((id) => id >= size);
  if (at >= 0)
    throw new SpikedError(
      'ERR_TOKEN_UNKNOWN',
      `${path}: token ${at}: expected an id from 0 to ${size - 1}, found ${ids[at] ?? NaN}`,
    );
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
