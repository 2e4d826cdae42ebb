/** A byte-level BPE vocabulary of the Llama 3 form: bytes, then tokens put together from two each, then special tokens. */
export interface Vocabulary {
  tokens: string[];
  /** `left right`, the first of two that apply first. */
  merges: string[];
  bosId: number;
  eosId: number;
}

const nBytes = 256;
export const nSpecial = 256;

/**
 * Made by rule, so that it is the same for every seed: common short strings of Latin text, most useful first, as many as fit. Every text
 * encodes, an English one to about four letters a token.
 *
 * @param nMerges  at least one for each token put together; more are other ways to the same tokens, as converted vocabularies have them
 */
export function makeVocabulary(size: number, nMerges: number): Vocabulary {
  const tokens = byteTokens();
  const known = new Set(tokens);
  const ordinary = size - nSpecial;
  for (const token of composed()) {
    if (tokens.length === ordinary) break;
    tokens.push(token);
    known.add(token);
  }
  const merges = mergesOf(tokens.slice(nBytes), known, nMerges);
  const specials = specialTokens();
  const idOf = (text: string) => ordinary + specials.indexOf(text);
  return {
    tokens: [...tokens, ...specials],
    merges,
    bosId: idOf('<|begin_of_text|>'),
    eosId: idOf('<|end_of_text|>'),
  };
}

/** Bytes as printable characters, in GPT-2's order: those that are printable stand for themselves, the others follow from U+0100. */
function byteTokens(): string[] {
  const printable = [...range(0x21, 0x7e), ...range(0xa1, 0xac), ...range(0xae, 0xff)];
  const rest = range(0, 255).filter((byte) => !printable.includes(byte));
  return [...printable, ...rest.map((_, i) => 0x100 + i)].map((code) => String.fromCodePoint(code));
}

const lower = Array.from('etaoinshrdlcumwfgypbvkjxqz');
const upper = lower.map((letter) => letter.toUpperCase());
const digits = Array.from('0123456789');
const [space, newline] = ['\u0120', '\u010a'];

/** Strings that two shorter ones of this list, or bytes, make up. */
function* composed(): Generator<string> {
  for (const letter of [...lower, ...upper]) yield space + letter;
  yield newline + newline;
  for (let n = 2; n <= 16; n *= 2) yield space.repeat(n);
  yield* products(lower, lower);
  yield* products(upper, lower);
  yield* products(digits, digits);
  yield* products(digits, digits, digits);
  yield* products([space], lower, lower);
  yield* products([space], upper, lower);
  yield* products(lower, lower, lower);
  yield* products([space], lower, lower, lower);
  yield* products(lower, lower, lower, lower);
}

/** Every string with its first part from the first list and so on, the combinations of early entries first. */
function* products(...lists: readonly string[][]): Generator<string> {
  const last = lists.reduce((sum, list) => sum + list.length - 1, 0);
  for (let sum = 0; sum <= last; sum++) yield* ofSum(lists, sum);
}

function* ofSum([list = [], ...others]: readonly string[][], sum: number): Generator<string> {
  if (others.length === 0) {
    const only = list[sum];
    if (only !== undefined) yield only;
    return;
  }
  for (const [i, part] of list.slice(0, sum + 1).entries())
    for (const end of ofSum(others, sum - i)) yield part + end;
}

function mergesOf(made: readonly string[], known: ReadonlySet<string>, count: number): string[] {
  const merges: string[] = [];
  for (const [i, token] of made.entries()) {
    const spare = count - merges.length - (made.length - i - 1);
    merges.push(...splits(token, known).slice(0, Math.max(1, spare)));
  }
  return merges;
}

/** Every way to make a token of two others. */
function splits(token: string, known: ReadonlySet<string>): string[] {
  const found: string[] = [];
  for (let at = 1; at < token.length; at++) {
    const [left, right] = [token.slice(0, at), token.slice(at)];
    if (known.has(left) && known.has(right)) found.push(`${left} ${right}`);
  }
  return found;
}

/** Llama 3's, in its order. */
function specialTokens(): string[] {
  const named = [
    '<|begin_of_text|>',
    '<|end_of_text|>',
    ...range(0, 3).map(reserved),
    '<|start_header_id|>',
    '<|end_header_id|>',
    reserved(4),
    '<|eot_id|>',
  ];
  return [...named, ...range(5, nSpecial - named.length + 4).map(reserved)];
}

const reserved = (n: number): string => `<|reserved_special_token_${n}|>`;

/** The integers from `first` to `last`, both included. */
function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}
