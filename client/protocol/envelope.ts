/** The three MessagePack-RPC forms, with one map as the only positional parameter. */

export type Envelope =
  | { kind: 'request'; id: number; method: unknown; params: unknown }
  | { kind: 'response'; id: number; error: unknown; result: unknown }
  | { kind: 'notification'; method: unknown; params: unknown }
  /** Decodable, but none of the three; `id` when it is a request that can be answered. */
  | { kind: 'invalid'; id: number | null; reason: string };

const maxMessageId = 0xffff_ffff;

export function request(id: number, method: string, params: object): unknown[] {
  return [0, id, method, [params]];
}

export function response(id: number, result: unknown): unknown[] {
  return [1, id, null, result];
}

export function errorResponse(id: number, error: [number, string]): unknown[] {
  return [1, id, error, null];
}

export function notification(method: string, params: object): unknown[] {
  return [2, method, [params]];
}

export function parseEnvelope(value: unknown): Envelope {
  if (!Array.isArray(value)) return invalid(null, 'expected an array as message');
  const message: readonly unknown[] = value;
  const type = message[0];
  if (type === 2) {
    if (message.length !== 3)
      return invalid(null, `expected 3 items in a notification, found ${message.length}`);
    return { kind: 'notification', method: message[1], params: message[2] };
  }
  if (type !== 0 && type !== 1) return invalid(null, 'expected message type 0, 1 or 2');
  const id = message[1];
  if (!isMessageId(id)) return invalid(null, 'expected a message id from 0 to 4294967295');
  if (message.length !== 4)
    return invalid(type === 0 ? id : null, `expected 4 items in a message, found ${message.length}`);
  if (type === 0) return { kind: 'request', id, method: message[2], params: message[3] };
  return { kind: 'response', id, error: message[2], result: message[3] };
}

function invalid(id: number | null, reason: string): Envelope {
  return { kind: 'invalid', id, reason };
}

function isMessageId(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= maxMessageId;
}
