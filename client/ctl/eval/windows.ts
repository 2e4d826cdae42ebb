/** One pass of the model from a fresh state over the ids [from, to) of a text. */
export interface Window {
  index: number;
  from: number;
  to: number;
  /** Ids from here on are scored: no earlier window scored them, and something stands before them. */
  scoreFrom: number;
}

/**
 * Covers a text of n ids with windows of `seq` ids that begin every `stride` ids. The last one may be shorter; none begins where all ids
 * are scored already. A window's first id has nothing before it, so it is never scored unless `bos` stands in front.
 */
export function* windowsOf(n: number, seq: number, stride: number, bos: boolean): Generator<Window> {
  let scored = 0;
  for (let index = 0, from = 0; from < n && scored < n; index++, from += stride) {
    const to = Math.min(n, from + seq);
    const scoreFrom = Math.max(scored, from + (bos ? 0 : 1));
    yield { index, from, to, scoreFrom };
    scored = to;
  }
}
