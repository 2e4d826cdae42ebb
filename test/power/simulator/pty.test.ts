import { closeSync, constants, existsSync, openSync, readSync, writeSync } from 'node:fs';
import { SerialPort } from 'serialport';
import { addon } from '../../../native/host/index.js';
import { assert, suite } from '../../tools/suite.js';
import { simulated } from '../helpers/simulated.js';

const test = suite('pseudo-terminals');

function opened(path: string, baudRate: number): Promise<SerialPort> {
  return new Promise((resolve, reject) => {
    const port = new SerialPort({ path, baudRate }, (error) => (error ? reject(error) : resolve(port)));
  });
}

const heard = (port: SerialPort): Promise<string> =>
  new Promise((resolve) => port.once('data', (bytes: Buffer) => resolve(bytes.toString('hex'))));
const later = (ms: number): Promise<'nothing'> =>
  new Promise((resolve) => setTimeout(() => resolve('nothing'), ms));

test('a new one passes every byte both ways, and echoes none', () => {
  const { fd, path } = addon().openPty();
  const slave = openSync(path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
  const all = Uint8Array.from({ length: 256 }, (_, i) => i);
  const back = new Uint8Array(300);
  writeSync(slave, all);
  assert.is(readSync(fd, back), 256);
  assert.equal(back.slice(0, 256), all);
  writeSync(fd, all);
  assert.is(readSync(slave, back), 256);
  assert.equal(back.slice(0, 256), all);
  assert.throws(() => readSync(slave, back), /EAGAIN/);
  closeSync(slave);
  closeSync(fd);
});

test('the speed that the other end sets is known', async () => {
  const { fd, path } = addon().openPty();
  for (const baud of [2400, 9600, 19_200, 115_200]) {
    const port = await opened(path, baud);
    assert.is(addon().ptyBaud(fd), baud);
    await new Promise((resolve) => port.close(resolve));
  }
  closeSync(fd);
  assert.is(addon().ptyBaud(fd), null);
});

test('the real binding reads a simulated meter: the answer of the specification, byte for byte', async () => {
  const meter = simulated('pzem', {
    watts: 7000.1,
    measuring: { periodMs: 10, volts: 230.4, noiseVolts: 0, powerFactor: 1 },
  });
  const port = await opened(meter.path, 9600);
  await later(30);
  const answer = heard(port);
  port.write(Buffer.from('01040000000a700d', 'hex'));
  // 230.4 V, 30.382 A, 7000.1 W as low word first, 0 Wh, 50.0 Hz, 1.00.
  assert.match(await answer, /^010414090076ae0000117100010000000001f400640000[0-9a-f]{4}$/);
  await new Promise((resolve) => port.close(resolve));
  meter.stop();
});

test('on a port of another speed it hears nothing', async () => {
  const meter = simulated('pzem', { measuring: { periodMs: 10 } });
  const port = await opened(meter.path, 19_200);
  await later(30);
  port.write(Buffer.from('01040000000a700d', 'hex'));
  assert.is(await Promise.race([heard(port), later(150)]), 'nothing');
  await new Promise((resolve) => port.close(resolve));
  meter.stop();
});

test('a hang-up closes the port at the other end, and the link comes back with a new one', async () => {
  const meter = simulated('lines', { measuring: { periodMs: 10 }, faults: ['hang-up:after=3,back_s=0.05'] });
  const port = await opened(meter.path, 9600);
  port.resume(); // a port that nobody reads notices nothing
  const error = await new Promise<unknown>((resolve) => port.once('close', resolve));
  assert.ok((error as { disconnected?: boolean }).disconnected);
  assert.not.ok(existsSync(meter.path));
  while (meter.opened() < 2) await later(10);
  const again = await opened(meter.path, 9600);
  assert.match(Buffer.from(await heard(again), 'hex').toString(), /10\.000/);
  await new Promise((resolve) => again.close(resolve));
  meter.stop();
});

test.run();
