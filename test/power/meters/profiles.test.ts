import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SpikedError, type ErrorCode } from '../../../client/protocol/errors.js';
import { decode } from '../../../power/meters/modbus/decode.js';
import { parseProfile, readProfile, type Profile } from '../../../power/meters/modbus/profile.js';
import { profiles } from '../../../power/meters/modbus/profiles.js';
import { mismatch, plausibilityFlags, type Limits } from '../../../power/meters/plausible.js';
import { assert, suite, tempDir } from '../../tools/suite.js';

const test = suite('meter profiles');
const profile = (name: string): Profile => {
  const found = profiles.get(name);
  if (found === undefined) throw new Error(`no profile ${name}`);
  return found;
};
/** Between byte count and checksum. */
const payload = (frame: string): Buffer => Buffer.from(frame.replaceAll(' ', ''), 'hex').subarray(3, -2);

test('the golden answers of a PZEM-004T', () => {
  const first = '01 04 14 09 00 00 57 00 00 00 67 00 00 04 d2 00 00 01 f4 00 33 00 00 c8 a5';
  assert.equal(decode(profile('pzem-004t'), payload(first)), {
    watts: 10.3,
    volts: 230.4,
    amps: 0.087,
    joules: 1234 * 3600,
    hertz: 50,
    powerFactor: 0.51,
    alarm: false,
    noNumber: false,
  });
  // Watts beyond 16 bits: the wrong order of the two words would show here.
  const second = '01 04 14 09 00 76 e3 00 00 11 71 00 01 04 d2 00 00 01 f4 00 64 00 00 96 ba';
  const reading = decode(profile('pzem-004t'), payload(second));
  assert.is(reading.watts, 7000.1);
  assert.is(reading.amps, 30.435);
});

test('an alarm is seen, and is unknown in the shorter block', () => {
  const bytes = payload('01 04 14 09 00 00 57 00 00 00 67 00 00 04 d2 00 00 01 f4 00 33 ff ff 00 00');
  assert.ok(decode(profile('pzem-004t'), bytes).alarm);
  const short = decode(profile('pzem-004t'), bytes.subarray(0, 18));
  assert.not.ok(short.alarm);
  assert.is(short.watts, 10.3);
});

test('a PZEM-017 has hundredths of volts and amperes', () => {
  const registers = [1205, 83, 100, 0, 7, 0, 0, 0];
  const bytes = Buffer.from(registers.flatMap((word) => [word >> 8, word & 0xff]));
  const { watts, volts, amps, joules } = decode(profile('pzem-dc'), bytes);
  assert.equal([watts, volts, amps, joules], [10, 12.05, 0.83, 7 * 3600]);
});

test('floats of HOPI come low end first, those of Eastron high end first', () => {
  const hopi = Buffer.alloc(40);
  [10.25, 0.0875, 230.5, 50, 0.5, 100, 2].forEach((value, i) => hopi.writeFloatLE(value, 4 * i));
  const read = decode(profile('hp-9800'), hopi);
  assert.equal([read.watts, read.volts, read.hertz, read.powerFactor], [10.25, 230.5, 50, 0.5]);
  assert.is(read.joules, 7.2e6);

  for (const name of ['sdm120', 'sdm230']) {
    const eastron = Buffer.alloc(28);
    eastron.writeFloatBE(230.5, 0);
    eastron.writeFloatBE(0.0875, 12);
    eastron.writeFloatBE(10.25, 24);
    const { watts, volts, amps } = decode(profile(name), eastron);
    assert.equal([watts, volts], [10.25, 230.5]);
    assert.ok(Math.abs((amps ?? 0) - 0.0875) < 1e-8);
    eastron.writeFloatBE(NaN, 24);
    assert.equal(decode(profile(name), eastron).watts, null);
    assert.ok(decode(profile(name), eastron).noNumber);
  }
});

test('every type in every order is what a DataView reads', () => {
  const bytes = Buffer.from([0x12, 0x34, 0xc1, 0x48]);
  const swapped = {
    'high-first high-first': [0x12, 0x34, 0xc1, 0x48],
    'low-first high-first': [0xc1, 0x48, 0x12, 0x34],
    'high-first low-first': [0x34, 0x12, 0x48, 0xc1],
    'low-first low-first': [0x48, 0xc1, 0x34, 0x12],
  } as const;
  for (const words of ['high-first', 'low-first'] as const)
    for (const order of ['high-first', 'low-first'] as const) {
      const expected = Buffer.from(swapped[`${words} ${order}`]);
      for (const [type, value] of [
        ['u32', expected.readUInt32BE(0)],
        ['i32', expected.readInt32BE(0)],
        ['f32', expected.readFloatBE(0)],
      ] as const) {
        const map = parseProfile(
          { ...plain, words, bytes: order, values: { watts: { register: 0, type } } },
          'test',
        );
        assert.is(decode(map, bytes).watts, Number(value.toPrecision(12)));
      }
      const one = parseProfile(
        { ...plain, bytes: order, values: { watts: { register: 1, type: 'i16' } } },
        'test',
      );
      assert.is(
        decode(one, bytes).watts,
        order === 'high-first' ? bytes.readInt16BE(2) : bytes.readInt16LE(2),
      );
    }
});

const plain = {
  name: 'mine',
  function_code: 4,
  start: 0,
  counts: [2],
  values: { watts: { register: 0, type: 'u32' } },
  current: 'alternating',
  update_ms: 500,
  step_watts: 1,
};

const errorOf = (work: () => unknown): SpikedError => {
  try {
    work();
  } catch (error) {
    if (error instanceof SpikedError) return error;
    throw error;
  }
  throw new Error('no error');
};

test("a user's profile is held to its form, and the error names the key", () => {
  assert.is(parseProfile(plain, 'mine.json').worst_ms, 1500);
  for (const [change, named] of [
    [{ wats: 1 }, 'wats'],
    [{ function_code: 6 }, 'function_code'],
    [{ update_ms: 0 }, 'update_ms'],
    [{ current: undefined }, 'current'],
    [{ values: { watts: { register: 0, type: 'u64' } } }, 'values.watts.type'],
    [{ values: { watts: { register: 1, type: 'u32' } } }, 'values.watts.register'],
    [{ values: { watts: { register: 0, type: 'u16', factor: 2 } } }, 'factor'],
    [{ counts: [2, 1] }, 'values.watts.register'],
    [{ counts: [126] }, 'counts'],
    [{ alarms: [{ register: 2, equals: 1 }] }, 'alarms.0.register'],
    [{ start: 65_535 }, 'counts'],
    [{ worst_ms: 100 }, 'worst_ms'],
  ] as const) {
    const error = errorOf(() => parseProfile({ ...plain, ...change }, 'mine.json'));
    assert.is(error.code, 'ERR_PLAN_INVALID');
    assert.match(error.message, 'mine.json');
    assert.match(error.message, named);
  }
});

test('a profile file that is none is told by its path', () => {
  const path = join(tempDir(), 'mine.json');
  const codeOf = (): [ErrorCode, string] => {
    const { code, message } = errorOf(() => readProfile(path));
    return [code, message];
  };
  assert.is(codeOf()[0], 'ERR_FILE_NOT_FOUND');
  writeFileSync(path, '{ "name": ');
  assert.is(codeOf()[0], 'ERR_PLAN_INVALID');
  assert.match(codeOf()[1], path);
  writeFileSync(path, JSON.stringify(plain));
  assert.is(readProfile(path).name, 'mine');
});

const mains: Limits = {
  current: 'alternating',
  maxWatts: 2300,
  maxAmps: 10,
  voltsBetween: [80, 260],
  steps: { watts: 0.1, volts: 0.1, amps: 0.001 },
};

test('readings that physics or the range forbids are flagged', () => {
  const good = { watts: 10.3, volts: 230.4, amps: 0.087, powerFactor: 0.51 };
  for (const [change, flags] of [
    [{}, []],
    [{ watts: 0, amps: 0, powerFactor: 0 }, []],
    // One step of 1 mA is 0.23 VA: the rounding of a small current is no fault.
    [{ watts: 0.9, amps: 0.003, powerFactor: 1 }, []],
    [{ watts: 30 }, ['suspect']],
    [{ powerFactor: 0.3 }, ['suspect']],
    [{ watts: -10.3 }, ['negative']],
    [{ watts: 2400, amps: 10.42, powerFactor: 1 }, ['saturated', 'suspect']],
    [{ watts: 2400, volts: null, amps: null, powerFactor: null }, ['suspect']],
    [{ watts: null }, ['no-value']],
  ] as const)
    assert.equal(plausibilityFlags({ ...good, ...change }, mains), flags, JSON.stringify(change));
  assert.equal(plausibilityFlags({ ...good, watts: -10.3 }, { ...mains, current: 'direct' }), []);
});

test("another meter's map, or a unit that is off, is told with what would fit", () => {
  for (const [values, text] of [
    [{ watts: 10.3, volts: 230.4, amps: 0.087 }, undefined],
    [{ watts: 10_300, volts: 230.4, amps: 87 }, '2300 W'],
    [{ watts: 103, volts: 230.4, amps: 0.087 }, 'P times 0.1 would fit'],
    [{ watts: 0.0103, volts: 230.4, amps: 0.087 }, 'P times 1000 would fit'],
    [{ watts: 10.3, volts: 23.04, amps: 0.87 }, '80 to 260 V'],
    // A capacitor alone: hardly any power, and its own power factor says so.
    [{ watts: 0.1, volts: 230, amps: 0.07, powerFactor: 0.01 }, undefined],
    [{ watts: 0, volts: 230, amps: 0.07 }, undefined],
  ] as const) {
    const told = mismatch(values, mains);
    if (text === undefined) assert.is(told, undefined);
    else assert.match(told ?? '', text);
  }
  const direct: Limits = { ...mains, current: 'direct', voltsBetween: null };
  assert.match(mismatch({ watts: 1, volts: 12, amps: 0.83 }, direct) ?? '', 'P times 10 would fit');
});

test.run();
