import type { Reading } from '../device.js';
import type { Ear, Mouth } from '../speaker.js';

export interface Registers {
  /** Function code by which they are read. */
  readonly functionCode: 3 | 4;
  /** Addresses to which it listens. */
  readonly slaves: readonly number[];
  /** The value of every register from 0 on, big-endian; null where it has nothing to say. */
  encode(reading: Reading): Buffer;
}

/** CRC-16/Modbus: reflected 0x8005, from 0xFFFF. */
export function crc16(bytes: Uint8Array): number {
  let crc = 0xffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let i = 0; i < 8; ++i) crc = crc & 1 ? (crc >> 1) ^ 0xa001 : crc >> 1;
  }
  return crc;
}

/** The message with its checksum, low byte first. */
export function sealed(body: readonly number[] | Uint8Array): Buffer {
  const out = Buffer.alloc(body.length + 2);
  out.set(body);
  out.writeUInt16LE(crc16(out.subarray(0, body.length)), body.length);
  return out;
}

/** From the last byte of a request to the first of its answer, beside the time on the wire. */
const turnaroundMs = 5;
const requestBytes = 8;

/** A Modbus RTU slave that answers reads of its registers, and anything else with an exception. */
export function modbusSlave(mouth: Mouth, baud: number, registers: Registers): Ear {
  let heard = Buffer.alloc(0);
  const say = (body: readonly number[]): void => {
    const message = sealed(body);
    mouth.say(message, turnaroundMs + ((requestBytes + message.length) * 10_000) / baud);
  };
  return (bytes) => {
    heard = Buffer.concat([heard, bytes]);
    while (heard.length >= requestBytes) {
      const request = heard.subarray(0, requestBytes);
      if (crc16(request) !== 0) {
        heard = heard.subarray(1); // out of step: look one byte further on
        continue;
      }
      heard = heard.subarray(requestBytes);
      answer(request);
    }
  };

  function answer(request: Buffer): void {
    const slave = request.readUInt8(0);
    const code = request.readUInt8(1);
    const first = request.readUInt16BE(2);
    const count = request.readUInt16BE(4);
    if (!registers.slaves.includes(slave)) return;
    if (code !== registers.functionCode) {
      say([slave, code | 0x80, 1]);
      return;
    }
    const reading = mouth.read();
    if (reading === null) return;
    const all = registers.encode(reading);
    if (count < 1 || count > 125 || (first + count) * 2 > all.length) say([slave, code | 0x80, 2]);
    else say([slave, code, count * 2, ...all.subarray(first * 2, (first + count) * 2)]);
  }
}
