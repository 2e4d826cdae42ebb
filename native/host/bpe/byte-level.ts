/**
 * GPT-2's way to write bytes as text: a printable byte of Latin-1 is its own character, the other 68 are U+0100 to U+0143 in ascending order.
 *
 * @source openai/gpt-2 encoder.py, bytes_to_unicode
 */
function isPrintable(byte: number): boolean {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/** By byte: the code point that it is written as. */
export const codePointOf: readonly number[] = (() => {
  let others = 0x100;
  return Array.from({ length: 256 }, (_, byte) => (isPrintable(byte) ? byte : others++));
})();

const byteOf: ReadonlyMap<number, number> = new Map(codePointOf.map((point, byte) => [point, byte]));

/**
 * Writes `bytes` in that form, as UTF-8, to the start of `out`.
 *
 * @param out  at least twice as long
 * @returns bytes written
 */
export function writeMapped(bytes: Uint8Array, length: number, out: Uint8Array): number {
  let at = 0;
  for (let i = 0; i < length; i++) {
    const point = codePointOf[bytes[i] ?? 0] ?? 0;
    if (point < 0x80) out[at++] = point;
    else {
      out[at++] = 0xc0 | (point >> 6);
      out[at++] = 0x80 | (point & 0x3f);
    }
  }
  return at;
}

/** The bytes that such a text stands for; null when `[start, end)` of `text` is none. */
export function readMapped(text: Uint8Array, start: number, end: number): number[] | null {
  const bytes: number[] = [];
  for (let at = start; at < end;) {
    const lead = text[at++] ?? 0;
    let point = lead;
    if (lead >= 0x80) {
      const next = at < end ? (text[at++] ?? 0) : 0;
      if (lead < 0xc2 || lead > 0xdf || (next & 0xc0) !== 0x80) return null;
      point = ((lead & 0x1f) << 6) | (next & 0x3f);
    }
    const byte = byteOf.get(point);
    if (byte === undefined) return null;
    bytes.push(byte);
  }
  return bytes;
}
