/** Modbus RTU frames, of a master that only reads: function codes 3 and 4. */

export interface ReadRequest {
  /** 1 to 247; 0xF8 is "any device" of a PZEM, alone on its wires. */
  readonly slave: number;
  readonly functionCode: 3 | 4;
  readonly start: number;
  /** Registers, 16 bits each. */
  readonly count: number;
}

const table = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xa001 : crc >>> 1;
  return crc;
});

/** CRC-16/Modbus: polynomial 0x8005 reflected, from 0xFFFF. It travels low byte first. */
export function crc16(bytes: Uint8Array): number {
  let crc = 0xffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (table[(crc ^ byte) & 0xff] ?? 0);
  return crc;
}

/** Whether the last two bytes are the checksum of those before. */
export function hasChecksum(frame: Uint8Array): boolean {
  const at = frame.length - 2;
  if (at < 1) return false;
  const crc = crc16(frame.subarray(0, at));
  return frame[at] === (crc & 0xff) && frame[at + 1] === crc >>> 8;
}

/** The eight bytes of a request. */
export function encodeRequest({ slave, functionCode, start, count }: ReadRequest): Uint8Array {
  const frame = Uint8Array.of(slave, functionCode, start >> 8, start & 0xff, count >> 8, count & 0xff, 0, 0);
  const crc = crc16(frame.subarray(0, 6));
  frame[6] = crc & 0xff;
  frame[7] = crc >>> 8;
  return frame;
}

/** Bytes of the answer: address, function, byte count, registers, checksum. */
export const answerLength = (count: number): number => 5 + 2 * count;
const exceptionLength = 5;

/** A frame found in a stream of bytes: where, how long, and what. */
export interface Found {
  readonly at: number;
  readonly length: number;
  readonly kind: 'answer' | 'exception';
  readonly slave: number;
  /** Registers of an answer. */
  readonly count: number;
  /** The exception's code. */
  readonly code: number;
  /** False only for a frame that begins as the answer does, is complete, and has another checksum. */
  readonly checksum: boolean;
}

/** Length and kind of the frame that begins at a place, by its first three bytes; undefined where none does. */
function head(bytes: Uint8Array, at: number, functionCode: number): Omit<Found, 'checksum'> | undefined {
  const [slave, code, third] = [bytes[at], bytes[at + 1], bytes[at + 2]];
  if (slave === undefined || third === undefined) return undefined;
  if (code === (functionCode | 0x80))
    return { at, length: exceptionLength, kind: 'exception', slave, count: 0, code: third };
  if (code !== functionCode || third === 0 || third % 2 !== 0 || third > 250) return undefined;
  return { at, length: 5 + third, kind: 'answer', slave, count: third / 2, code: 0 };
}

/**
 * The first whole frame of a function with a right checksum, wherever it begins: what is before it is noise, an echo, a torn frame or
 * slipped bytes.
 */
export function findFrame(bytes: Uint8Array, functionCode: number): Found | undefined {
  for (let at = 0; at + exceptionLength <= bytes.length; at++) {
    const found = head(bytes, at, functionCode);
    if (found === undefined || at + found.length > bytes.length) continue;
    if (hasChecksum(bytes.subarray(at, at + found.length))) return { ...found, checksum: true };
  }
  return undefined;
}

/** Where the answer to a request begins by its first three bytes, right or not, whole or not. */
export function findHead(bytes: Uint8Array, request: ReadRequest): Found | undefined {
  for (let at = 0; at + 3 <= bytes.length; at++) {
    const found = head(bytes, at, request.functionCode);
    if (found?.slave === request.slave && found.kind === 'answer' && found.count === request.count)
      return { ...found, checksum: false };
  }
  return undefined;
}
