import { isUtf8 } from 'node:buffer';
import { readFileBytes } from '../model-file.js';
import { codePointOf, readMapped } from './byte-level.js';
import { invalid } from './invalid.js';
import { mergesKey, readMerges, shown, type MergeTable } from './merge-table.js';
import { tokensKey, typesKey, type BpeSource } from './source.js';
import { readStrings, type Strings } from './string-array.js';
import { emptySlots, TokenIndex } from './token-index.js';

/** GGUF's token types. */
export const tokenType = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5 } as const;

/** A byte-level BPE tokenizer in shared memory: about 9 MB for 128,256 tokens and 280,147 merges. */
export interface BpeTables {
  tokens: Strings;
  /** By id, a tokenType each. */
  types: Uint8Array;
  slots: Int32Array;
  merges: MergeTable;
  /** By byte: its token. */
  byteIds: Int32Array;
}

/**
 * Reads the tables from a model file. Takes a good part of a second for 280,147 merges: not on an event loop.
 *
 * @throws SpikedError ERR_TOKENIZER_INVALID naming the key, ERR_FILE_IO, ERR_MODEL_FILE_CHANGED
 */
export async function readTables(source: BpeSource): Promise<BpeTables> {
  const strings = async (key: string, { offsetBytes, length }: BpeSource['tokens']): Promise<Strings> => {
    const bytes = await readFileBytes(source.path, { offsetBytes, sizeBytes: source.endBytes - offsetBytes });
    return readStrings(key, bytes, length);
  };
  const tokens = await strings(tokensKey, source.tokens);
  const types = await readTypes(source);
  const index = new TokenIndex(tokens, emptySlots(tokens.length));
  for (let id = 0; id < tokens.length; id++) {
    checkToken(tokens, types, id);
    const same = index.add(id);
    if (same !== undefined)
      throw invalid(tokensKey, `token ${id}: expected different texts, found that of token ${same}, ${textOf(tokens, id)}`);
  } // prettier-ignore
  const isText = (id: number): boolean => types[id] === tokenType.normal;
  const byteIds = new Int32Array(new SharedArrayBuffer(4 * 256));
  codePointOf.forEach((point, byte) => {
    const text = new TextEncoder().encode(String.fromCodePoint(point));
    const id = index.find(text, 0, text.length);
    if (id < 0 || !isText(id))
      throw invalid(tokensKey, `expected a token for each of the 256 bytes, found none for ${byte}`);
    byteIds[byte] = id;
  });
  const merges = readMerges(await strings(mergesKey, source.merges), index, isText);
  return { tokens, types, slots: index.slots, merges, byteIds };
}

async function readTypes({ path, types, tokens }: BpeSource): Promise<Uint8Array> {
  const found = new Uint8Array(new SharedArrayBuffer(tokens.length)).fill(tokenType.normal);
  if (types === undefined) return found;
  const bytes = await readFileBytes(path, { offsetBytes: types.offsetBytes, sizeBytes: 4 * types.length });
  const view = new DataView(bytes.buffer);
  for (let id = 0; id < types.length; id++) {
    const type = view.getInt32(4 * id, true);
    if (type < tokenType.normal || type > tokenType.unused)
      throw invalid(typesKey, `token ${id}: expected a type from 1 to 5, found ${type}`);
    found[id] = type;
  }
  return found;
}

function checkToken({ text, starts }: Strings, types: Uint8Array, id: number): void {
  const [start = 0, end = 0] = starts.subarray(id, id + 2);
  if (start === end) throw invalid(tokensKey, `token ${id}: expected a text, found an empty one`);
  const isNormal = types[id] === tokenType.normal;
  if (isNormal && readMapped(text, start, end) !== null) return;
  const bytes = text.slice(start, end);
  if (!isUtf8(bytes)) throw invalid(tokensKey, `token ${id}: expected UTF-8, found other bytes`);
  if (isNormal)
    throw invalid(tokensKey, `token ${id}: expected bytes written as characters (GPT-2's map), found ${shown(bytes)}`);
} // prettier-ignore

function textOf({ text, starts }: Strings, id: number): string {
  return shown(text.subarray(starts[id] ?? 0, starts[id + 1] ?? 0));
}
