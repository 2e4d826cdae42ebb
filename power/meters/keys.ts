import { SpikedError } from '../../client/protocol/errors.js';

/** One key of an address, `?key=value`: what it means, what it may hold, what holds without it. */
export interface Key<T> {
  readonly help: string;
  /** The value without the key. */
  readonly absent: T;
  /** The value of a text; undefined when the text is none. */
  read(text: string): T | undefined;
  /** What is expected, for the error. */
  readonly expected: string;
}
export type Keys = Readonly<Record<string, Key<unknown>>>;
export type KeyValues<K extends Keys> = { readonly [N in keyof K]: K[N] extends Key<infer T> ? T : never };

/** A finite number within limits. */
export function number<A extends number | undefined>(
  help: string,
  absent: A,
  limits: { min: number; max: number; whole?: boolean },
): Key<number | A> {
  const { min, max, whole = false } = limits;
  return {
    help,
    absent,
    expected: `a ${whole ? 'whole ' : ''}number from ${min} to ${max}`,
    read(text) {
      const value = text.trim() === '' ? NaN : Number(text);
      const fits = value >= min && value <= max && (!whole || Number.isInteger(value));
      return fits ? value : undefined;
    },
  };
}

/** One of a few words. */
export function choice<const C extends string, A extends C | undefined>(
  help: string,
  absent: A,
  words: readonly C[],
): Key<C | A> {
  return { help, absent, expected: words.join(', '), read: (text) => words.find((word) => word === text) };
}

/** Any text that is not empty. */
export function text<A extends string | undefined>(help: string, absent: A): Key<string | A> {
  return { help, absent, expected: 'a text', read: (value) => (value === '' ? undefined : value) };
}

/**
 * The values of an address's keys.
 *
 * @param where  the address, for errors
 * @throws SpikedError ERR_INVALID_ARGUMENT a key is unknown, comes twice, or holds what it may not
 */
export function readKeys<K extends Keys>(where: string, keys: K, query: string): KeyValues<K> {
  const values = new Map(Object.entries(keys).map(([name, key]): [string, unknown] => [name, key.absent]));
  const seen = new Set<string>();
  for (const part of query.split('&').filter((piece) => piece !== '')) {
    const at = part.includes('=') ? part.indexOf('=') : part.length;
    const name = part.slice(0, at);
    const key = Object.hasOwn(keys, name) ? keys[name] : undefined;
    if (key === undefined) {
      const known = Object.keys(keys).join(', ');
      throw fault(
        where,
        `there is no key "${name}"; ${known === '' ? 'it takes none' : `it takes ${known}`}`,
      );
    }
    if (seen.has(name)) throw fault(where, `the key "${name}" comes twice`);
    seen.add(name);
    const found = decode(where, part.slice(at + 1));
    const value = key.read(found);
    if (value === undefined) throw fault(where, `${name}: expected ${key.expected}, found "${found}"`);
    values.set(name, value);
  }
  return Object.fromEntries(values) as KeyValues<K>;
}

function decode(where: string, value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    throw fault(where, `"${value}" is no percent-encoded text`);
  }
}

const fault = (where: string, text: string): SpikedError =>
  new SpikedError('ERR_INVALID_ARGUMENT', `${where}: ${text}`);
