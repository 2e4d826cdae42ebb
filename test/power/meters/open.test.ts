import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SpikedError } from '../../../client/protocol/errors.js';
import { findSensor } from '../../../power/meters/hwmon/files.js';
import { kinds } from '../../../power/meters/kinds.js';
import { addressWarnings, openMeter } from '../../../power/meters/open.js';
import { createTrace } from '../../../power/trace/writer.js';
import { assert, suite, tempDir } from '../../tools/suite.js';
import { header, sample } from '../helpers/traces.js';
import { errorOf, until, watch } from '../helpers/watch-meter.js';

const test = suite('meter addresses');

const refusal = (address: string): SpikedError => {
  try {
    openMeter(address);
  } catch (error) {
    if (error instanceof SpikedError) return error;
    throw error;
  }
  throw new Error(`${address} was taken`);
};

test('an address that is wrong is told with what there is', () => {
  for (const [address, ...texts] of [
    ['pzm:/dev/x', 'no kind of meter "pzm"', 'pzem:', 'modbus:', 'hwmon:', 'file:'],
    ['/dev/ttyUSB0', 'KIND:PATH'],
    ['', 'KIND:PATH'],
    ['pzem:', 'the port is missing', 'pzem:PORT?slave=1'],
    ['pzem:/dev/x?slve=1', 'no key "slve"', 'slave'],
    ['pzem:/dev/x?toString=1', 'no key "toString"'],
    ['pzem:/dev/x?slave=1&slave=2', 'comes twice'],
    ['pzem:/dev/x?slave=0', 'slave', '1 to 248', '"0"'],
    ['pzem:/dev/x?slave=', 'slave', '""'],
    ['pzem:/dev/x?slave', 'slave', '""'],
    ['pzem:/dev/x?slave=1.5', 'whole number'],
    ['pzem:/dev/x?poll_ms=NaN', 'poll_ms'],
    ['pzem:/dev/x?crc=maybe', 'strict, warn, ignore'],
    ['pzem:/dev/x?profile=%zz', 'percent-encoded'],
    ['modbus:/dev/x', 'profile is missing', 'sdm120'],
    ['modbus:/dev/x?profile=sdm12', 'no profile "sdm12"', 'sdm120', 'JSON file'],
    ['file:/x?time=now&speed=2', 'speed=1'],
  ] as const) {
    const error = refusal(address);
    assert.is(error.code, 'ERR_INVALID_ARGUMENT', address);
    for (const text of texts) assert.match(error.message, text);
  }
  assert.is(refusal('modbus:/dev/x?profile=./none.json').code, 'ERR_FILE_NOT_FOUND');
  assert.is(refusal('file:/none').code, 'ERR_FILE_NOT_FOUND');
  assert.is(refusal('hwmon:/none/at/all').code, 'ERR_METER_UNREACHABLE');
});

test('colons and encoded characters in paths and values are kept', () => {
  const port = '/dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0-port0';
  assert.is(openMeter(`pzem:${port}?slave=2`).identity.address, `pzem:${port}?slave=2`);
  const folder = tempDir();
  const path = join(folder, 'a&b.json');
  const map = {
    name: 'mine',
    function_code: 3,
    start: 0,
    counts: [2],
    current: 'direct',
    update_ms: 10,
    step_watts: 1,
  };
  writeFileSync(path, JSON.stringify({ ...map, values: { watts: { register: 0, type: 'f32' } } }));
  const meter = openMeter(`modbus:/dev/x?profile=${encodeURIComponent(path)}`);
  assert.is(meter.identity.profile, 'mine');
  assert.is(meter.traits.updatePeriodNs, 1e7);
});

test('only a port whose name may change is warned of', () => {
  assert.is(addressWarnings('pzem:/dev/ttyUSB0').length, 1);
  assert.is(addressWarnings('pzem:/dev/serial/by-id/x').length, 0);
  assert.is(addressWarnings('file:/dev/ttyUSB0').length, 0);
});

test('every kind says its form and every key its meaning', () => {
  for (const { kind, form, summary, keys } of kinds) {
    assert.ok(form.startsWith(`${kind}:`));
    assert.ok(summary.length > 10);
    for (const key of Object.values(keys)) assert.ok(key.help.length > 5);
  }
  assert.is(new Set(kinds.map(({ kind }) => kind)).size, kinds.length);
});

async function recorded(): Promise<string> {
  const dir = join(tempDir(), 'trace');
  const writer = await createTrace(dir, header());
  for (let i = 0; i < 5; i++) writer.sample(sample(1_000_000_000n + BigInt(i) * 20_000_000n, 10 + i));
  writer.sample(sample(1_100_000_000n, null, { flags: ['lost'] }));
  writer.sample(sample(1_120_000_000n, 20, { flags: ['back'] }));
  await writer.close();
  return dir;
}

test('a recorded trace comes back: its own times, watts and flags, then one lost sample', async () => {
  const dir = await recorded();
  for (const [query, speed] of [
    ['?speed=max', Infinity],
    ['?speed=100', 100],
  ] as const) {
    const meter = openMeter(`file:${dir}${query}`);
    const began = performance.now();
    const { samples } = await watch(meter);
    await until('the end', () => samples.length === 8);
    assert.ok(speed === Infinity || performance.now() - began >= 1.2);
    await meter.stop();
    assert.equal(
      samples.map(({ watts, flags }) => [watts, ...flags]),
      [[10], [11], [12], [13], [14], [null, 'lost'], [20, 'back'], [null, 'lost']],
    );
    assert.is(samples[0]?.tNs, 1_000_000_000n);
    assert.is(samples[7]?.tNs, 1_120_000_000n + 2_500_000_000n);
    assert.ok(meter.identity.simulated);
    assert.is(meter.identity.model, 'PZEM-004T');
  }
});

test('a trace replayed into the present is simulated, at its distances', async () => {
  const dir = join(tempDir(), 'trace');
  const real = header();
  const writer = await createTrace(dir, { ...real, meter: { ...real.meter, simulated: false } });
  for (let i = 0; i < 3; i++) writer.sample(sample(5n + BigInt(i) * 20_000_000n, 10));
  await writer.close();
  assert.not.ok(openMeter(`file:${dir}`).identity.simulated);
  const meter = openMeter(`file:${dir}?time=now`);
  assert.ok(meter.identity.simulated);
  const before = process.hrtime.bigint();
  const { samples } = await watch(meter);
  await until('all', () => samples.length === 3);
  await meter.stop();
  assert.ok((samples[0]?.tNs ?? 0n) >= before);
  assert.is((samples[2]?.tNs ?? 0n) - (samples[0]?.tNs ?? 0n), 40_000_000n);
  assert.ok(process.hrtime.bigint() >= (samples[2]?.tNs ?? 0n), 'not before their time');
});

function sensor(files: Record<string, string>): string {
  const folder = join(tempDir(), 'hwmon0');
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), `${text}\n`);
  return folder;
}

test("the kernel's files: microwatts, or millivolts times milliamperes", async () => {
  for (const [files, watts, volts] of [
    [{ name: 'pmic', power1_input: '10300000', update_interval: '40' }, 10.3, null],
    [{ name: 'powerz', in0_input: '5000', curr1_input: '2060', in1_input: '3' }, 10.3, 5],
    [
      { name: 'ina226', in0_input: '2', in1_input: '5000', curr1_input: '2000', power1_input: '10025000' },
      10.025,
      5,
    ],
  ] as const) {
    const folder = sensor(files);
    const meter = openMeter(`hwmon:${folder}?poll_ms=5`);
    const { samples } = await watch(meter);
    await until('samples', () => samples.length > 4);
    await meter.stop();
    assert.ok(samples.every((one) => one.watts === watts && one.volts === volts && one.flags.length === 0));
    assert.is(meter.identity.model, files.name);
    assert.ok(meter.identity.simulated, 'ordinary files are no sensor');
    assert.is(meter.traits.rule, 'update_interval' in files ? 'backward-rectangle' : 'trapezoid');
    assert.is(meter.traits.updatePeriodNs, 'update_interval' in files ? 4e7 : 1e8);
  }
});

test('a sensor that goes away is lost once, and comes back', async () => {
  const folder = sensor({ power1_input: '10000000' });
  const file = join(folder, 'power1_input');
  const meter = openMeter(`hwmon:${file}?update_ms=20`);
  const { samples } = await watch(meter);
  await until('samples', () => samples.length > 4);
  writeFileSync(file, 'no data');
  await until('lost', () => samples.at(-1)?.flags.includes('lost') === true);
  writeFileSync(file, '-1000000');
  await until('back', () => samples.at(-1)?.watts === -1);
  await meter.stop();
  assert.is(samples.filter(({ flags }) => flags.includes('lost')).length, 1);
  assert.equal(samples.find(({ watts }) => watts === -1)?.flags, ['suspect', 'back']);
});

test('sensors are found by name, which must be one', async () => {
  const sensors = tempDir();
  for (const [folder, name] of [
    ['hwmon0', 'cpu_thermal'],
    ['hwmon1', 'powerz'],
  ] as const) {
    mkdirSync(join(sensors, folder));
    writeFileSync(join(sensors, folder, 'name'), `${name}\n`);
  }
  writeFileSync(join(sensors, 'hwmon1', 'power1_input'), '1\n');
  assert.is(findSensor('powerz', sensors).folder, join(sensors, 'hwmon1'));
  const told = async (name: string): Promise<string> =>
    (await errorOf(Promise.resolve().then(() => findSensor(name, sensors)))).message;
  assert.match(await told('power'), 'powerz');
  assert.match(await told('cpu_thermal'), 'measures no power');
  mkdirSync(join(sensors, 'hwmon2'));
  writeFileSync(join(sensors, 'hwmon2', 'name'), 'powerz\n');
  assert.match(await told('powerz'), 'give the folder');
});

test.run();
