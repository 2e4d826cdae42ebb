import type { z } from 'zod';

/** One sentence for the first thing that does not fit: the key, what was expected, what was found. */
export function describeIssue(error: z.ZodError, raw: unknown): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'expected something else';
  const where = keyOf(issue.path);
  if (issue.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys;
    return `${keyOf([...issue.path, key])}: expected no such key, found ${show(valueAt(raw, [...issue.path, key]))}`;
  }
  return `${where === '' ? 'the whole' : where}: expected ${expected(issue)}, found ${show(valueAt(raw, issue.path))}`;
}

/** `arms[1].request.head`. */
export function keyOf(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part).slice(0, 60)}`))
    .join('')
    .replace(/^\./, '');
}

function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    raw,
  );
}

function expected(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected;
    case 'too_small':
      return bound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum);
    case 'too_big':
      return bound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum);
    case 'invalid_value':
      return issue.values.map(show).join(' or ');
    case 'invalid_format':
      return issue.format === 'regex' ? `text like ${issue.pattern ?? 'another'}` : issue.format;
    default:
      return issue.message;
  }
}

function bound(origin: string, how: string, limit: number | bigint): string {
  if (origin === 'string') return `${how} ${limit} characters`;
  if (origin === 'array') return `${how} ${limit} items`;
  return `${how} ${limit}`;
}

/** In a few characters. */
export function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `an array of ${value.length} items`;
  if (typeof value === 'object' && value !== null) return 'a map';
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  return JSON.stringify(value);
}
