import { invalid } from './invalid.js';

/** Strings one after the other: string i is `[starts[i], starts[i + 1])` of `text`. In shared memory, for two threads. */
export interface Strings {
  readonly length: number;
  readonly text: Uint8Array;
  /** One more than there are strings. */
  readonly starts: Uint32Array;
}

/** Far above any vocabulary's: a damaged count or length must not ask for memory. */
const mostBytes = 128 * 1024 * 1024;

/**
 * Reads `count` strings of GGUF (u64 length, bytes) from the start of `bytes`.
 *
 * @param key  of the metadata, for errors
 * @throws SpikedError ERR_TOKENIZER_INVALID when they do not end in `bytes`
 */
export function readStrings(key: string, bytes: Uint8Array, count: number): Strings {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const ends = (i: number): Error =>
    invalid(key, `expected ${count} strings that end inside the metadata, found that string ${i} does not`);
  if (count * 8 > bytes.length) throw ends(Math.floor(bytes.length / 8));
  let total = 0;
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (at + 8 > bytes.length) throw ends(i);
    const length = view.getUint32(at, true);
    if (view.getUint32(at + 4, true) !== 0 || length > bytes.length - at - 8) throw ends(i);
    at += 8 + length;
    total += length;
  }
  const text = new Uint8Array(new SharedArrayBuffer(total));
  const starts = new Uint32Array(new SharedArrayBuffer(4 * (count + 1)));
  at = 0;
  for (let i = 0, to = 0; i < count; i++) {
    const length = view.getUint32(at, true);
    text.set(bytes.subarray(at + 8, at + 8 + length), to);
    at += 8 + length;
    to += length;
    starts[i + 1] = to;
  }
  return { length: count, text, starts };
}

/** @throws SpikedError ERR_TOKENIZER_INVALID */
export function checkSize(key: string, sizeBytes: number): void {
  if (sizeBytes <= mostBytes) return;
  throw invalid(key, `expected at most ${mostBytes} bytes of metadata from here on, found ${sizeBytes}`);
}
