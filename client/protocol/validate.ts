import type { z } from 'zod';
import { SpikedError } from './errors.js';
import {
  events,
  methods,
  type EventName,
  type EventParams,
  type FullParams,
  type MethodName,
  type Result,
} from './messages.js';

/**
 * Parameters with defaults filled in.
 *
 * @throws SpikedError ERR_INVALID_ARGUMENT naming method, key, what was expected and what was found
 */
export function parseParams<M extends MethodName>(method: M, raw: unknown): FullParams<M> {
  const parsed = methods[method].params.safeParse(raw);
  if (!parsed.success) {
    throw new SpikedError('ERR_INVALID_ARGUMENT', `${method}: ${describeIssue(parsed.error, raw)}`);
  }
  const params: unknown = parsed.data;
  return params as FullParams<M>;
}

/** An answer as this client knows it. @throws SpikedError ERR_RPC_INVALID when it does not fit the method */
export function parseResult<M extends MethodName>(method: M, raw: unknown): Result<M> {
  const parsed = methods[method].result.safeParse(raw);
  if (!parsed.success) {
    throw new SpikedError('ERR_RPC_INVALID', `answer to ${method}: ${describeIssue(parsed.error, raw)}`);
  }
  const result: unknown = parsed.data;
  return result as Result<M>;
}

/** An event as this client knows it. @throws SpikedError ERR_RPC_INVALID when it does not fit its name */
export function parseEvent<E extends EventName>(event: E, raw: unknown): EventParams<E> {
  const parsed = events[event].safeParse(raw);
  if (!parsed.success) {
    throw new SpikedError('ERR_RPC_INVALID', `event ${event}: ${describeIssue(parsed.error, raw)}`);
  }
  const params: unknown = parsed.data;
  return params as EventParams<E>;
}

/** Names what a path leads to, for people. */
export type NamePath = (path: readonly PropertyKey[]) => string;

/** As in `"limits"."max_depth"` and `"stop"[2]`. */
export const describePath: NamePath = (path) =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `."${clip(String(part))}"`))
    .join('')
    .replace(/^\./, '');

/** One sentence for the first issue: where, what was expected, what was found. */
export function describeIssue(error: z.ZodError, raw: unknown, name: NamePath = describePath): string {
  const issue = error.issues[0];
  if (!issue) return 'expected valid parameters';
  if (issue.code === 'unrecognized_keys') {
    return `unknown parameter ${issue.keys.map((key) => JSON.stringify(clip(key))).join(', ')}`;
  }
  const where = issue.path.length === 0 ? 'parameters' : name(issue.path);
  const value = issue.path.reduce<unknown>(child, raw);
  return `${where}: expected ${expected(issue)}, found ${show(value)}`;
}

function child(value: unknown, key: PropertyKey): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Record<PropertyKey, unknown>)[key];
}

function expected(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected;
    case 'too_small':
      return unit(issue.origin, 'at least', issue.minimum);
    case 'too_big':
      return unit(issue.origin, 'at most', issue.maximum);
    case 'invalid_value':
      return issue.values.map((value) => show(value)).join(' or ');
    case 'invalid_union': {
      const kinds = issue.errors.flatMap((branch) => branch.slice(0, 1).map(expected));
      return [...new Set(kinds)].join(' or ');
    }
    default:
      return issue.message;
  }
}

function unit(origin: string, bound: string, value: number | bigint): string {
  if (origin === 'string') return `${bound} ${value} characters`;
  if (origin === 'array') return `${bound} ${value} items`;
  return `a number ${bound} ${value}`;
}

function clip(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/** A value in a few characters; never a whole prompt. */
function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') return JSON.stringify(clip(value));
  if (typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean' || value === null)
    return String(value);
  if (Array.isArray(value)) return `an array of ${value.length} items`;
  if (value instanceof Uint8Array) return `${value.length} bytes of binary`;
  return 'a map';
}
