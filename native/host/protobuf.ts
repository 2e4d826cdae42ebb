/** The Protocol Buffers wire format, as much as a SentencePiece model needs: strict, since the bytes come from a file. */

export type Field =
  | { number: number; type: 'varint'; value: bigint }
  | { number: number; type: 'fixed32' | 'fixed64' | 'bytes'; value: Uint8Array };

/** Bytes that are no message. */
export class WireError extends Error {}

class Cursor {
  at = 0;
  constructor(private readonly bytes: Uint8Array) {}

  get done(): boolean {
    return this.at === this.bytes.length;
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.bytes[this.at];
      if (byte === undefined)
        throw new WireError(`byte ${String(this.at)}: expected a varint, found the end`);
      this.at++;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (value >= 1n << 64n) break;
        return value;
      }
    }
    throw new WireError(`byte ${String(this.at)}: expected a varint of 64 bits, found a longer one`);
  }

  take(length: bigint): Uint8Array {
    const left = this.bytes.length - this.at;
    if (length > BigInt(left))
      throw new WireError(`byte ${String(this.at)}: expected ${String(length)} bytes, found ${String(left)}`);
    const from = this.at;
    this.at += Number(length);
    return this.bytes.subarray(from, this.at);
  }
}

function readField(cursor: Cursor): Field {
  const start = cursor.at;
  const tag = cursor.varint();
  const number = Number(tag >> 3n);
  if (number < 1 || number >= 2 ** 29)
    throw new WireError(`byte ${String(start)}: expected a field number, found ${String(number)}`);
  switch (Number(tag & 7n)) {
    case 0:
      return { number, type: 'varint', value: cursor.varint() };
    case 1:
      return { number, type: 'fixed64', value: cursor.take(8n) };
    case 2:
      return { number, type: 'bytes', value: cursor.take(cursor.varint()) };
    case 5:
      return { number, type: 'fixed32', value: cursor.take(4n) };
    default:
      throw new WireError(
        `byte ${String(start)}: expected wire type 0, 1, 2 or 5, found ${String(tag & 7n)}`,
      );
  }
}

/**
 * The fields of a message in file order.
 *
 * @throws WireError
 */
export function* fields(message: Uint8Array): Generator<Field> {
  const cursor = new Cursor(message);
  while (!cursor.done) yield readField(cursor);
}

/** The value of a field that must be of bytes. */
export function bytesOf(field: Field): Uint8Array {
  if (field.type === 'bytes') return field.value;
  throw new WireError(`field ${String(field.number)}: expected bytes, found ${field.type}`);
}

/** The value of a field that must be an integer below 2^32. */
export function u32Of(field: Field): number {
  if (field.type === 'varint' && field.value < 1n << 32n) return Number(field.value);
  const found = field.type === 'varint' ? String(field.value) : field.type;
  throw new WireError(`field ${String(field.number)}: expected an integer below 2^32, found ${found}`);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The value of a field that must be UTF-8 text. */
export function textOf(field: Field): string {
  try {
    return utf8.decode(bytesOf(field));
  } catch (error) {
    if (error instanceof WireError) throw error;
    throw new WireError(`field ${String(field.number)}: expected UTF-8, found other bytes`);
  }
}
