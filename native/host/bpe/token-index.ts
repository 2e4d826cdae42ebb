import type { Strings } from './string-array.js';

/** FNV-1a. */
function hash(bytes: Uint8Array, start: number, end: number): number {
  let h = 0x811c9dc5;
  for (let i = start; i < end; i++) h = Math.imul(h ^ (bytes[i] ?? 0), 0x01000193);
  return h ^ (h >>> 15);
}

/** Slots for `n` entries, at most half of them in use: id + 1, or 0. */
export function emptySlots(n: number): Int32Array {
  let size = 16;
  while (size < 2 * n) size *= 2;
  return new Int32Array(new SharedArrayBuffer(4 * size));
}

/** Finds tokens by their text. 12 bytes a token at most, beside the strings. */
export class TokenIndex {
  constructor(
    readonly strings: Strings,
    readonly slots: Int32Array,
  ) {}

  /** Adds a token, or gives the id that has its text already. */
  add(id: number): number | undefined {
    const { text, starts } = this.strings;
    const slot = this.slot(text, starts[id] ?? 0, starts[id + 1] ?? 0);
    const found = (this.slots[slot] ?? 0) - 1;
    if (found >= 0) return found;
    this.slots[slot] = id + 1;
    return undefined;
  }

  /** The id of the text `[start, end)` of `bytes`, or -1. */
  find(bytes: Uint8Array, start: number, end: number): number {
    return (this.slots[this.slot(bytes, start, end)] ?? 0) - 1;
  }

  private slot(bytes: Uint8Array, start: number, end: number): number {
    const mask = this.slots.length - 1;
    let slot = hash(bytes, start, end) & mask;
    for (;;) {
      const id = (this.slots[slot] ?? 0) - 1;
      if (id < 0 || this.equals(id, bytes, start, end)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  private equals(id: number, bytes: Uint8Array, start: number, end: number): boolean {
    const { text, starts } = this.strings;
    const from = starts[id] ?? 0;
    if ((starts[id + 1] ?? 0) - from !== end - start) return false;
    for (let i = start, j = from; i < end; i++, j++) if (bytes[i] !== text[j]) return false;
    return true;
  }
}
