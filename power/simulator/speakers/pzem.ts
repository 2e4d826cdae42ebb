import type { Reading } from '../device.js';
import { wall, type Kind } from '../speaker.js';
import { modbusSlave } from './modbus.js';

const wattHour = 3600;
/** Any PZEM answers to it. */
const generalAddress = 0xf8;

/** 32 bits, low word first. */
function lowWordFirst(out: Buffer, value: number, register: number): void {
  out.writeUInt16BE(value & 0xffff, register * 2);
  out.writeUInt16BE(Math.floor(value / 0x10000) & 0xffff, register * 2 + 2);
}

function alternating({ watts, volts, amps, powerFactor, hertz, joules }: Reading): Buffer {
  const out = Buffer.alloc(20);
  out.writeUInt16BE(Math.round(volts * 10), 0);
  lowWordFirst(out, Math.round(amps * 1000), 1);
  lowWordFirst(out, Math.round(watts * 10), 3);
  lowWordFirst(out, Math.floor(joules / wattHour), 5);
  out.writeUInt16BE(Math.round(hertz * 10), 14);
  out.writeUInt16BE(Math.round(powerFactor * 100), 16);
  return out;
}

function direct({ watts, volts, amps, joules }: Reading): Buffer {
  const out = Buffer.alloc(16);
  out.writeUInt16BE(Math.round(volts * 100), 0);
  out.writeUInt16BE(Math.round(amps * 100), 2);
  lowWordFirst(out, Math.round(watts * 10), 2);
  lowWordFirst(out, Math.floor(joules / wattHour), 4);
  return out;
}

/** PZEM-004T v3, v4, PZEM-014, PZEM-016: 0.1 W, a value a second. */
export const pzem: Kind = {
  name: 'pzem',
  says: 'PZEM-004T, -014, -016: alternating current, Modbus RTU',
  baud: 9600,
  measuring: { ...wall, maxWatts: 23_000 },
  cannot: ['no-value', 'negative'],
  speak: (mouth, baud) =>
    modbusSlave(mouth, baud, { functionCode: 4, slaves: [1, generalAddress], encode: alternating }),
};

/** PZEM-003, PZEM-017: direct current. */
export const pzemDc: Kind = {
  name: 'pzem-dc',
  says: 'PZEM-003, -017: direct current, Modbus RTU',
  baud: 9600,
  measuring: {
    ...wall,
    voltsStep: 0.01,
    ampsStep: 0.01,
    maxWatts: 90_000,
    volts: 12,
    noiseVolts: 0.02,
    powerFactor: 1,
  },
  cannot: ['no-value', 'negative'],
  speak: (mouth, baud) =>
    modbusSlave(mouth, baud, { functionCode: 4, slaves: [1, generalAddress], encode: direct }),
};
