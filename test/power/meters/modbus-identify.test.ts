import { openMeter } from '../../../power/meters/open.js';
import { SerialLink } from '../../../power/meters/serial-link.js';
import type { ErrorCode } from '../../../client/protocol/errors.js';
import { assert, missing, suite } from '../../tools/suite.js';
import { modbusSlave, pzemAnswer, sealed } from '../helpers/modbus-slave.js';
import { ptyPair } from '../helpers/pty-pair.js';
import { errorOf, watch } from '../helpers/watch-meter.js';

const test = suite('modbus identify');
const fast = 'answer_ms=50&worst_ms=60';

/** What a start is refused with, by how the far end answers a request. */
async function refusal(
  kind: string,
  answer: (request: Uint8Array) => Uint8Array | undefined,
): Promise<[ErrorCode, string]> {
  const pair = await ptyPair();
  const slave = await modbusSlave(pair.far, (request) => {
    const bytes = answer(request);
    return bytes === undefined ? [] : [{ bytes }];
  });
  const meter = openMeter(kind.replace('PORT', pair.near));
  const error = await errorOf(watch(meter));
  await meter.stop();
  await slave.stop();
  await pair.unplug();
  return [error.code, error.message];
}

const needs = missing('socat');
const sdm = `modbus:PORT?profile=sdm120&baud=9600&${fast}`;

const cases = [
  ['nobody', sdm, () => undefined, 'ERR_METER_SILENT', 'check A/B'],
  [
    'an exception',
    `pzem:PORT?${fast}`,
    () => sealed([1, 0x84, 2]),
    'ERR_METER_MISMATCH',
    'exception 2 (register not known)',
  ],
  ['another slave', sdm, () => pzemAnswer(10, 10, 2), 'ERR_METER_MISMATCH', 'give slave=2'],
  ['text', sdm, () => Buffer.from('login: '), 'ERR_METER_MISMATCH', '6c 6f 67 69 6e 3a 20'],
  [
    'volts of another unit',
    `pzem:PORT?${fast}`,
    (request: Uint8Array) => {
      const bytes = [...pzemAnswer(10, request[5]).subarray(0, -2)];
      bytes[3] = 0;
      bytes[4] = 120;
      return sealed(bytes);
    },
    'ERR_METER_MISMATCH',
    '80 to 260 V',
  ],
  [
    'watts of another unit',
    `pzem:PORT?${fast}`,
    (request: Uint8Array) => {
      const bytes = [...pzemAnswer(10, request[5]).subarray(0, -2)];
      bytes[9] = 1000 >> 8;
      bytes[10] = 1000 & 0xff;
      return sealed(bytes);
    },
    'ERR_METER_MISMATCH',
    'P times 0.1 would fit',
  ],
  [
    'wrong checksums',
    `pzem:PORT?${fast}`,
    (request: Uint8Array) => {
      const bytes = pzemAnswer(10, request[5]);
      bytes[8] = 1;
      return bytes;
    },
    'ERR_METER_MISMATCH',
    'crc=warn',
  ],
] as const;

// All at once: each mostly waits.
test.needs(needs, 'refuses what is no such meter, with what answered instead', () =>
  Promise.all(
    cases.map(async ([name, kind, answer, code, text]) => {
      const [found, message] = await refusal(kind, answer);
      assert.is(found, code, `${name}: ${message}`);
      assert.match(message, text, name);
    }),
  ).then(() => undefined),
);

test.needs(needs, 'knows a PZEM-004T v1 by its own protocol', async () => {
  const pair = await ptyPair();
  const far = await SerialLink.open(
    pair.far,
    { baudRate: 9600 },
    {
      // 230.2 V: A0, whole volts in two bytes, tenths, sum.
      data: (bytes) => {
        if (bytes[0] === 0xb0) void far.write(Uint8Array.of(0xa0, 0x00, 0xe6, 0x02, 0x00, 0x00, 0x88));
      },
      lost: () => undefined,
    },
  );
  const meter = openMeter(`pzem:${pair.near}?${fast}`);
  const error = await errorOf(watch(meter));
  assert.is(error.code, 'ERR_METER_MISMATCH');
  assert.match(error.message, 'v1 or v2');
  await meter.stop();
  await far.close();
  await pair.unplug();
});

test.needs(needs, 'stopped while it waits for an answer, or unplugged, the start ends', async () => {
  const pair = await ptyPair();
  const slow = openMeter(`pzem:${pair.near}?answer_ms=20000`);
  const started = errorOf(watch(slow));
  setTimeout(() => void slow.stop(), 200);
  assert.is((await started).code, 'ERR_CANCELLED');
  const unplugged = openMeter(`pzem:${pair.near}?answer_ms=20000`);
  const ended = errorOf(watch(unplugged));
  setTimeout(() => void pair.unplug(), 200);
  assert.is((await ended).code, 'ERR_METER_LOST');
  await unplugged.stop();
  const absent = openMeter(`pzem:${pair.near}`);
  assert.is((await errorOf(watch(absent))).code, 'ERR_METER_UNREACHABLE');
  assert.is((await errorOf(watch(absent))).code, 'ERR_INVALID_ARGUMENT', 'a meter starts once');
  await absent.stop();
});

test.run();
