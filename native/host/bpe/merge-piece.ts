import { rankOf, type MergeTable } from './merge-table.js';

/** Room for the position in an entry of the heap; with 2^24 ranks it stays below 2^53. */
const positions = 2 ** 29;

/** Least number first. */
class Heap {
  private readonly items: number[] = [];

  push(item: number): void {
    const { items } = this;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = items[parent] ?? 0;
      if (above <= item) break;
      items[at] = above;
      at = parent;
    }
    items[at] = item;
  }

  pop(): number | undefined {
    const { items } = this;
    const least = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return least;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && (items[child + 1] ?? 0) < (items[child] ?? 0)) child++;
      const below = items[child] ?? 0;
      if (below >= last) break;
      items[at] = below;
      at = child;
    }
    items[at] = last;
    return least;
  }
}

/**
 * Merges the neighbours of lowest rank, the leftmost first, until none merge.
 *
 * O(n log n) for n ids: a piece may be as long as the text.
 *
 * @param ids  of the single bytes of one piece
 * @source Sennrich et al., arXiv 1508.07909, algorithm 1
 */
export function mergePiece(ids: Int32Array, table: MergeTable): Int32Array {
  const n = ids.length;
  const id = Int32Array.from(ids);
  const next = Int32Array.from(ids, (_, i) => i + 1);
  const previous = Int32Array.from(ids, (_, i) => i - 1);
  const gone = new Uint8Array(n);
  const heap = new Heap();
  const rankAt = (at: number): number => {
    const right = next[at] ?? n;
    return right < n ? rankOf(table, id[at] ?? 0, id[right] ?? 0) : -1;
  };
  const offer = (at: number): void => {
    const rank = rankAt(at);
    if (rank >= 0) heap.push(rank * positions + at);
  };
  for (let at = 0; at + 1 < n; at++) offer(at);
  for (let item = heap.pop(); item !== undefined; item = heap.pop()) {
    const at = item % positions;
    const rank = Math.floor(item / positions);
    if (gone[at] === 1 || rankAt(at) !== rank) continue; // one of the two has merged since
    const right = next[at] ?? n;
    const after = next[right] ?? n;
    id[at] = table.parts[3 * rank + 2] ?? 0;
    gone[right] = 1;
    next[at] = after;
    if (after < n) previous[after] = at;
    offer(at);
    const before = previous[at] ?? -1;
    if (before >= 0) offer(before);
  }
  return id.filter((_, at) => gone[at] === 0);
}
