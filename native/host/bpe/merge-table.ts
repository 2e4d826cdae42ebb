import { invalid } from './invalid.js';
import type { Strings } from './string-array.js';
import { emptySlots, type TokenIndex } from './token-index.js';

/** By rank: `parts` has the left id, the right id and the id that they become. */
export interface MergeTable {
  readonly parts: Int32Array;
  readonly slots: Int32Array;
}

export const mergesKey = 'tokenizer.ggml.merges';
const space = 0x20;

/**
 * Reads merges, "left right" each, in order of rank.
 *
 * @param isText  whether an id may come out of a text
 * @throws SpikedError ERR_TOKENIZER_INVALID for one that is not two tokens which make a third, or comes twice
 */
export function readMerges(merges: Strings, tokens: TokenIndex, isText: (id: number) => boolean): MergeTable {
  const table = {
    parts: new Int32Array(new SharedArrayBuffer(12 * merges.length)),
    slots: emptySlots(merges.length),
  };
  const { text, starts } = merges;
  let joined = new Uint8Array(256);
  for (let rank = 0; rank < merges.length; rank++) {
    const start = starts[rank] ?? 0;
    const end = starts[rank + 1] ?? 0;
    const bad = (what: string): Error =>
      invalid(mergesKey, `merge ${rank}: ${what}, found ${shown(text.subarray(start, end))}`);
    const gap = text.subarray(start, end).indexOf(space) + start;
    if (gap <= start || gap === end - 1 || text.subarray(gap + 1, end).includes(space))
      throw bad('expected two tokens with one space between them');
    if (joined.length < end - start) joined = new Uint8Array(2 * (end - start));
    joined.set(text.subarray(start, gap));
    joined.set(text.subarray(gap + 1, end), gap - start);
    const ids = [
      tokens.find(text, start, gap),
      tokens.find(text, gap + 1, end),
      tokens.find(joined, 0, end - start - 1),
    ];
    if (!ids.every((id) => id >= 0 && isText(id)))
      throw bad('expected two tokens of the vocabulary that make a third');
    table.parts.set(ids, 3 * rank);
    const [left = 0, right = 0] = ids;
    const slot = slotOf(table, left, right);
    if (table.slots[slot] !== 0) throw bad(`expected it once, as merge ${(table.slots[slot] ?? 0) - 1}`);
    table.slots[slot] = rank + 1;
  }
  return table;
}

/** The rank at which two ids merge; -1 when they do not. */
export function rankOf(table: MergeTable, left: number, right: number): number {
  return (table.slots[slotOf(table, left, right)] ?? 0) - 1;
}

function slotOf({ parts, slots }: MergeTable, left: number, right: number): number {
  const mask = slots.length - 1;
  const mixed = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b);
  let slot = (mixed ^ (mixed >>> 15)) & mask;
  for (;;) {
    const rank = (slots[slot] ?? 0) - 1;
    if (rank < 0 || (parts[3 * rank] === left && parts[3 * rank + 1] === right)) return slot;
    slot = (slot + 1) & mask;
  }
}

/** Bytes of a file in an error message. */
export function shown(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(Uint8Array.from(bytes.subarray(0, 64)));
  return JSON.stringify(bytes.length > 64 ? `${text}…` : text);
}
