/** A byte-level BPE vocabulary made by hand, GGUF files that hold it, and the definition of BPE written out slowly. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '../../tools/suite.js';

/** GPT-2's 256 characters by byte, from the list in its source. */
export const characters: readonly string[] = (() => {
  const visible = '!'.charCodeAt(0);
  const kept = new Set<number>();
  for (let b = visible; b <= '~'.charCodeAt(0); b++) kept.add(b);
  for (let b = '\u00a1'.charCodeAt(0); b <= '\u00ac'.charCodeAt(0); b++) kept.add(b);
  for (let b = '\u00ae'.charCodeAt(0); b <= '\u00ff'.charCodeAt(0); b++) kept.add(b);
  const names: string[] = [];
  let n = 0;
  for (let b = 0; b < 256; b++) names.push(String.fromCharCode(kept.has(b) ? b : 256 + n++));
  return names;
})();

export const written = (text: string): string =>
  [...Buffer.from(text)].map((byte) => characters[byte] ?? '').join('');

export interface Bpe {
  tokens: string[];
  merges: [string, string][];
  types: number[];
}

export const specials = ['<|begin_of_text|>', '<|end_of_text|>', '<|x|>', '<|eot_id|>'];
const normal = 1;
const control = 3;

/** Bytes, then what the merges make in their order, then specials. */
export function vocabulary(merges: [string, string][], extra: string[] = []): Bpe {
  const texts = new Set([...characters, ...merges.map((pair) => pair.join('')), ...extra]);
  const tokens = [...texts, ...specials];
  return { tokens, merges, types: tokens.map((_, id) => (id < texts.size ? normal : control)) };
}

/** Merges of a few English words, Han and an emoji, in a sensible order. */
export function smallVocabulary(): Bpe {
  const merges: [string, string][] = [];
  for (const word of [' the', ' there', 'Hello', ' world', '123', '\n\n', '  ', "'re", '能量', '\u{1f642}', 'ing', ' a']) {
    const letters = Array.from(written(word));
    for (let i = 1; i < letters.length; i++) {
      const pair: [string, string] = [letters.slice(0, i).join(''), letters[i] ?? ''];
      if (!merges.some(([left, right]) => left === pair[0] && right === pair[1])) merges.push(pair);
    }
  } // prettier-ignore
  return vocabulary(merges, [written(' whole')]); // a token that no merge makes
}

/** Ids of one piece by the definition: as long as two neighbours are in the list, merge those that come first in it, the leftmost first. */
export function definedBpe({ tokens, merges, types }: Bpe, piece: string): number[] {
  const whole = tokens.indexOf(written(piece));
  if (whole >= 0 && types[whole] === normal) return [whole];
  const symbols = Array.from(written(piece));
  for (;;) {
    let best = { rank: Infinity, at: -1 };
    for (let at = 0; at + 1 < symbols.length; at++) {
      const rank = merges.findIndex(([left, right]) => left === symbols[at] && right === symbols[at + 1]);
      if (rank >= 0 && rank < best.rank) best = { rank, at };
    }
    if (best.at < 0) return symbols.map((symbol) => tokens.indexOf(symbol));
    symbols.splice(best.at, 2, (symbols[best.at] ?? '') + (symbols[best.at + 1] ?? ''));
  }
}

type Value = string | number | boolean | readonly (string | Buffer)[] | Int32Array;
export type Keys = Record<string, Value | undefined>;

/** The keys of a model file with this tokenizer. */
export function keysOf({ tokens, merges, types }: Bpe): Keys {
  return {
    'general.architecture': 'bitnet-b1.58',
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.tokens': tokens,
    'tokenizer.ggml.token_type': Int32Array.from(types),
    'tokenizer.ggml.merges': merges.map((pair) => pair.join(' ')),
    'tokenizer.ggml.bos_token_id': tokens.indexOf('<|begin_of_text|>'),
    'tokenizer.ggml.eos_token_id': tokens.indexOf('<|end_of_text|>'),
    'tokenizer.ggml.add_bos_token': true,
  };
}

const folder = tempDir();
let files = 0;

/** Writes a GGUF file of these keys and no tensors. */
export function fileOf(keys: Keys): string {
  const entries = Object.entries(keys).flatMap(([key, value]) =>
    value === undefined ? [] : [Buffer.concat([text(key), encoded(value)])],
  );
  const head = Buffer.concat([Buffer.from('GGUF'), u32(3), u64(0), u64(entries.length), ...entries]);
  const path = join(folder, `${files++}.gguf`);
  writeFileSync(path, Buffer.concat([head, Buffer.alloc(-head.length & 31)]));
  return path;
}

function encoded(value: Value): Buffer {
  if (typeof value === 'string') return Buffer.concat([u32(8), text(value)]);
  if (typeof value === 'boolean') return Buffer.concat([u32(7), Buffer.of(Number(value))]);
  if (typeof value === 'number') return Buffer.concat([u32(4), u32(value)]);
  if (value instanceof Int32Array)
    return Buffer.concat([u32(9), u32(5), u64(value.length), Buffer.from(value.buffer)]);
  return Buffer.concat([u32(9), u32(8), u64(value.length), ...value.map(text)]);
}

function text(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
