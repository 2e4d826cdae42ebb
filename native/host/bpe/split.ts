/**
 * How Llama 3 cuts a text before merges apply; the alternatives in this order. `\s` is Unicode's White_Space as in the expressions that the
 * models were trained with, not JavaScript's (which has U+FEFF and lacks U+0085), and `(?i:'s)` also matches U+017F.
 *
 * @source meta-llama/llama3 llama/tokenizer.py, pat_str
 */
const alternatives = [
  /'(?:[sS\u017f]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])/,
  /[^\r\n\p{L}\p{N}]?\p{L}+/u,
  /\p{N}{1,3}/u,
  / ?[^\p{White_Space}\p{L}\p{N}]+[\r\n]*/u,
  /\p{White_Space}*[\r\n]+/u,
  /\p{White_Space}+(?!\P{White_Space})/u,
  /\p{White_Space}+/u,
];

const pattern = new RegExp(alternatives.map(({ source }) => source).join('|'), 'gu');

/** The pieces of a text, in order; joined they are the text. */
export function* splitText(text: string): Generator<string, void, undefined> {
  for (const [piece] of text.matchAll(pattern)) yield piece;
}
