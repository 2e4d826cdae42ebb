import type { Reading } from '../device.js';
import { wall, type Kind } from '../speaker.js';
import { modbusSlave } from './modbus.js';

const kilowattHour = 3_600_000;

/** 20 registers: nine floats with their bytes upside down, then hours a day and the slave's address. */
function hopiRegisters({ watts, volts, amps, powerFactor, hertz, joules }: Reading): Buffer {
  const out = Buffer.alloc(40);
  const kwh = joules / kilowattHour;
  const floats = [watts, amps, volts, hertz, powerFactor, kwh, kwh, 0, 0];
  floats.forEach((value, i) => out.writeFloatLE(value, i * 4));
  out.writeUInt16BE(24, 36);
  out.writeUInt16BE(1, 38);
  return out;
}

/** Floats, high word first, at the addresses that the meter gives them. */
function eastronRegisters({ watts, volts, amps, powerFactor, hertz, joules }: Reading): Buffer {
  const out = Buffer.alloc((0x0156 + 2) * 2);
  const float = (register: number, value: number) => out.writeFloatBE(value, register * 2);
  float(0x0000, volts);
  float(0x0006, amps);
  float(0x000c, watts);
  float(0x0012, volts * amps);
  float(0x001e, powerFactor);
  float(0x0046, hertz);
  float(0x0048, joules / kilowattHour);
  float(0x0156, joules / kilowattHour);
  return out;
}

/** HOPI HP-9800. */
export const hopi: Kind = {
  name: 'hopi',
  says: 'HOPI HP-9800: Modbus RTU',
  baud: 9600,
  measuring: { ...wall, periodMs: 500, maxWatts: 4400 },
  cannot: [],
  speak: (mouth, baud) => modbusSlave(mouth, baud, { functionCode: 3, slaves: [1], encode: hopiRegisters }),
};

/** Eastron SDM120, SDM230. */
export const sdm120: Kind = {
  name: 'sdm120',
  says: 'Eastron SDM120, SDM230: Modbus RTU',
  baud: 2400,
  measuring: { ...wall, periodMs: 500, maxWatts: 10_350 },
  cannot: [],
  speak: (mouth, baud) =>
    modbusSlave(mouth, baud, { functionCode: 4, slaves: [1], encode: eastronRegisters }),
};
