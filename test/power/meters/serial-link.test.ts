import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SpikedError } from '../../../client/protocol/errors.js';
import {
  isPseudoTerminal,
  portNameWarning,
  SerialLink,
  type LinkListener,
} from '../../../power/meters/serial-link.js';
import { assert, missing, suite, tempDir } from '../../tools/suite.js';
import { ptyPair } from '../helpers/pty-pair.js';

const test = suite('serial link');
const settings = { baudRate: 9600 };

function listener(): LinkListener & { bytes: number[]; times: bigint[]; reasons: string[] } {
  const [bytes, times, reasons]: [number[], bigint[], string[]] = [[], [], []];
  return {
    bytes,
    times,
    reasons,
    data: (chunk, tNs) => {
      bytes.push(...chunk);
      times.push(tNs);
    },
    lost: (why) => void reasons.push(why),
  };
}

async function until(done: () => boolean): Promise<void> {
  for (let tries = 0; !done(); ++tries) {
    if (tries > 500) throw new Error('did not come about in 5 s');
    await sleep(10);
  }
}

const errorOf = async (work: Promise<unknown>): Promise<SpikedError> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.instance(error, SpikedError);
  return error as SpikedError;
};

test.needs(missing('socat'), 'carries all 256 byte values both ways, with the time', async () => {
  const pair = await ptyPair();
  const [a, b] = [listener(), listener()];
  const near = await SerialLink.open(pair.near, settings, a);
  const far = await SerialLink.open(pair.far, settings, b);
  const all = Uint8Array.from({ length: 256 }, (_, i) => i);
  const before = process.hrtime.bigint();
  await near.write(all);
  await until(() => b.bytes.length >= 256);
  assert.equal(b.bytes, [...all]);
  assert.ok(b.times.every((t) => t > before && t < process.hrtime.bigint()));
  await far.write(all);
  await until(() => a.bytes.length >= 256);
  assert.equal(a.bytes, [...all]);
  await near.close();
  await near.close();
  await far.close();
  await pair.unplug();
  assert.equal([...a.reasons, ...b.reasons], [], 'close() is no loss');
});

test.needs(missing('socat'), 'tells a hang-up once, then refuses', async () => {
  const pair = await ptyPair();
  const heard = listener();
  const link = await SerialLink.open(pair.near, settings, heard);
  await pair.unplug();
  await until(() => heard.reasons.length > 0);
  assert.is((await errorOf(link.write(Uint8Array.of(1)))).code, 'ERR_METER_LOST');
  assert.is((await errorOf(link.flush())).code, 'ERR_METER_LOST');
  await link.close();
  assert.is(heard.reasons.length, 1);
  await pair.plug();
  const again = await SerialLink.open(pair.near, settings, heard);
  await again.close();
  await pair.unplug();
});

test.needs(missing('socat'), 'what was received before the opening is dropped', async () => {
  const pair = await ptyPair();
  const far = await SerialLink.open(pair.far, settings, listener());
  await far.write(Uint8Array.of(1, 2, 3));
  await sleep(50);
  const heard = listener();
  const near = await SerialLink.open(pair.near, settings, heard);
  await far.write(Uint8Array.of(9));
  await until(() => heard.bytes.length > 0);
  assert.equal(heard.bytes, [9]);
  await near.close();
  await far.close();
  await pair.unplug();
});

test.needs(missing('socat'), 'a port that is held names the holder', async () => {
  const pair = await ptyPair();
  const link = await SerialLink.open(pair.near, settings, listener());
  const error = await errorOf(SerialLink.open(pair.near, settings, listener()));
  assert.is(error.code, 'ERR_METER_UNREACHABLE');
  assert.match(error.message, `(pid ${process.pid})`);
  await link.close();
  await pair.unplug();
});

test('what is no port is refused by what it is', async () => {
  const folder = tempDir();
  const file = join(folder, 'file');
  writeFileSync(file, '');
  for (const [path, text] of [
    [join(folder, 'none'), 'there is no such port'],
    [file, 'a serial port was expected'],
    [folder, 'a serial port was expected'],
    ['/dev/null', 'cannot be opened'],
  ] as const) {
    const error = await errorOf(SerialLink.open(path, settings, listener()));
    assert.is(error.code, 'ERR_METER_UNREACHABLE');
    assert.match(error.message, path);
    assert.match(error.message, text);
  }
});

test.needs(missing('socat'), 'a pseudo-terminal is known through its symlink', async () => {
  const pair = await ptyPair();
  assert.ok(isPseudoTerminal(pair.near));
  await pair.unplug();
  assert.not.ok(isPseudoTerminal(pair.near));
  assert.not.ok(isPseudoTerminal('/dev/null'));
});

test('a name that may change is warned of', () => {
  assert.match(portNameWarning('/dev/ttyUSB0') ?? '', '/dev/serial/by-id/');
  assert.match(portNameWarning('/dev/ttyACM12') ?? '', '/dev/serial/by-id/');
  for (const path of ['/dev/ttyS0', '/dev/serial/by-id/usb-x', '/dev/pts/3'])
    assert.is(portNameWarning(path), undefined);
});

test.run();
