import type { MetadataEntry, ModelFile } from '../model-file.js';
import { invalid } from './invalid.js';
import { mergesKey } from './merge-table.js';
import { checkSize } from './string-array.js';

interface ArrayPlace {
  offsetBytes: number;
  length: number;
}

/** Where a model file has its byte-level BPE tokenizer, and what its single values say. */
export interface BpeSource {
  path: string;
  tokens: ArrayPlace;
  merges: ArrayPlace;
  /** GGUF's token types; undefined: all normal. */
  types: ArrayPlace | undefined;
  /** Where the metadata ends: no array goes beyond. */
  endBytes: number;
  /** Undefined where the file gives none, as is eosId; then the token of that name counts. */
  bosId: number | undefined;
  eosId: number | undefined;
  /** Whether a text begins with BOS. */
  addBos: boolean;
}

export const tokensKey = 'tokenizer.ggml.tokens';
export const typesKey = 'tokenizer.ggml.token_type';
const addBosKey = 'tokenizer.ggml.add_bos_token';
/** Far above any published vocabulary. */
const mostTokens = 2 ** 24;
/**
 * The tokenizer in GGUF's own keys, with the pattern of Llama 3; undefined when the file has none.
 *
 * @throws SpikedError ERR_TOKENIZER_INVALID naming the key: another kind of tokenizer or pattern, arrays that do not fit each other, ids out of range
 */
export function readBpeSource({ path, metadata, dataOffsetBytes }: ModelFile): BpeSource | undefined {
  const tokens = metadata.get(tokensKey);
  if (tokens === undefined || tokens.length === 0) return undefined;
  requireText(metadata.get('tokenizer.ggml.model'), 'tokenizer.ggml.model', ['gpt2'], false);
  requireText(metadata.get('tokenizer.ggml.pre'), 'tokenizer.ggml.pre', ['llama-bpe'], true);
  const place = (key: string, elementType: string): ArrayPlace => {
    const entry = metadata.get(key);
    if (entry?.elementType !== elementType || entry.offsetBytes === undefined || entry.length === undefined)
      throw invalid(
        key,
        `expected an array of ${elementType}, found ${entry === undefined ? 'no such key' : (entry.elementType ?? entry.type)}`,
      );
    if (entry.length > mostTokens)
      throw invalid(key, `expected at most ${mostTokens} entries, found ${entry.length}`);
    checkSize(key, dataOffsetBytes - entry.offsetBytes);
    return { offsetBytes: entry.offsetBytes, length: entry.length };
  };
  const source = {
    path,
    tokens: place(tokensKey, 'string'),
    merges: place(mergesKey, 'string'),
    types: metadata.has(typesKey) ? place(typesKey, 'i32') : undefined,
    endBytes: dataOffsetBytes,
  };
  const size = source.tokens.length;
  if (source.types !== undefined && source.types.length !== size)
    throw invalid(typesKey, `expected as many entries as tokens, ${size}, found ${source.types.length}`);
  const id = (name: string): number | undefined => {
    const key = `tokenizer.ggml.${name}_token_id`;
    const entry = metadata.get(key);
    if (entry === undefined) return undefined;
    const { value } = entry;
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < size) return value;
    throw invalid(key, `expected an id from 0 to ${size - 1}, found ${shownValue(entry)}`);
  };
  const addBos = metadata.get(addBosKey)?.value ?? true; // Llama 3's habit
  if (typeof addBos !== 'boolean') throw invalid(addBosKey, 'expected true or false, found another value');
  return { ...source, bosId: id('bos'), eosId: id('eos'), addBos };
}

function requireText(
  entry: MetadataEntry | undefined,
  key: string,
  allowed: readonly string[],
  optional: boolean,
): void {
  if (entry === undefined && optional) return;
  if (typeof entry?.value === 'string' && allowed.includes(entry.value)) return;
  const found = entry === undefined ? 'no such key' : shownValue(entry);
  throw invalid(key, `expected "${allowed.join('" or "')}", found ${found.slice(0, 64)}`);
}

function shownValue({ value, type }: MetadataEntry): string {
  return value === undefined ? type : JSON.stringify(value);
}
