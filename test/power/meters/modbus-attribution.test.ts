import { setTimeout as sleep } from 'node:timers/promises';
import { openMeter } from '../../../power/meters/open.js';
import { SerialLink } from '../../../power/meters/serial-link.js';
import { seededRandom } from '../../../power/simulator/random.js';
import { assert, missing, suite } from '../../tools/suite.js';
import { modbusSlave, pzemAnswer, sealed } from '../helpers/modbus-slave.js';
import { ptyPair, type PtyPair } from '../helpers/pty-pair.js';
import { until, watch, type Seen } from '../helpers/watch-meter.js';

/** Modbus answers carry nothing that says whose they are: whether each is taken for its own request's. */
const test = suite('modbus attribution');
const needs = missing('socat');
const fast = 'update_ms=200&poll_ms=15&answer_ms=60&worst_ms=120';
const numbers = (list: readonly { watts: number | null }[]): number[] =>
  list.flatMap(({ watts }) => (watts === null ? [] : [watts]));

async function withPair(work: (pair: PtyPair) => Promise<void>): Promise<void> {
  const pair = await ptyPair();
  try {
    await work(pair);
  } finally {
    await pair.unplug();
  }
}

/** Request n was answered with n watts: each sample is pushed before the next request leaves, so it is of the last one before it. */
function assertOwn({ samples, frames }: Seen, name = ''): void {
  const sent = frames.filter(({ direction }) => direction === 'sent');
  for (const { watts, tNs } of samples)
    if (watts !== null) assert.is(sent.filter((frame) => frame.tNs < tNs).length - 1, watts, name);
}

test.needs(needs, 'a late answer is never taken for the next one, however late it is', () =>
  withPair(async ({ near, far }) => {
    // Request n is answered with n watts. Every fifth answer is late: some within the quiet time, some long after it.
    const delays = [80, 100, 150, 230, 400, 700];
    const slave = await modbusSlave(far, (request, n) => {
      const reply = { bytes: pzemAnswer(n, request[5]) };
      const delay = n > 0 && n % 5 === 0 ? delays[(n / 5) % delays.length] : undefined;
      return [delay === undefined ? reply : { ...reply, afterMs: delay }];
    });
    const meter = openMeter(`pzem:${near}?${fast}`);
    const seen = await watch(meter);
    await until('35 requests', () => slave.requests.length > 35, 30_000);
    await meter.stop();
    await slave.stop();
    const watts = numbers(seen.samples);
    assert.ok(watts.length > 20);
    // On a machine that stood still an answer of 80 ms may count as in time; it is its own request's all the same.
    assertOwn(seen);
    assert.ok(meter.counts.late > 3, 'and they are counted');
    assert.ok(seen.frames.some(({ fault }) => fault === 'late'));
  }),
);

/** A device whose answers take 0.1 to 3 s every other time, far longer than its profile says. */
const slow: Readonly<Record<string, { inTurn: boolean; wholeOnly: boolean; exceptions: boolean }>> = {
  'answers as they are ready': { inTurn: false, wholeOnly: false, exceptions: false },
  'answers in turn': { inTurn: true, wholeOnly: false, exceptions: false },
  'takes whole blocks only': { inTurn: false, wholeOnly: true, exceptions: false },
  'is busy at times': { inTurn: true, wholeOnly: false, exceptions: true },
};

test.needs(
  needs,
  "answers later than the longest time are nobody else's, whatever the device is like",
  async () => {
    const one = (
      [name, { inTurn, wholeOnly, exceptions }]: [string, (typeof slow)[string] & object],
      seed: number,
    ) =>
      withPair(async ({ near, far }) => {
        const random = seededRandom(seed);
        let free = 0;
        const slave = await modbusSlave(far, (request, n) => {
          if (wholeOnly && request[5] !== 10) return [{ bytes: sealed([1, 0x84, 2]) }];
          let afterMs = n > 1 && random() < 0.5 ? 100 + 2900 * random() : 5;
          if (inTurn) {
            const now = performance.now();
            free = Math.max(free, now) + afterMs;
            afterMs = free - now;
          }
          const busy = exceptions && n > 1 && random() < 0.3;
          return [{ bytes: busy ? sealed([1, 0x84, 6]) : pzemAnswer(n, request[5]), afterMs }];
        });
        const meter = openMeter(`pzem:${near}?update_ms=1000&poll_ms=15&answer_ms=150&worst_ms=180`);
        const seen = await watch(meter);
        await sleep(9_000);
        await meter.stop();
        await slave.stop();
        assert.ok(meter.counts.late > 1, name);
        assertOwn(seen, name);
      });
    await Promise.all(Object.entries(slow).map((device, i) => one(device, 4 + i)));
  },
);

test.needs(needs, "an answer that another program's request still gets is not taken", () =>
  withPair(async ({ near, far }) => {
    const slave = await modbusSlave(far, (request, n) => [{ bytes: pzemAnswer(n, request[5]), afterMs: 90 }]);
    const nobody = { data: () => undefined, lost: () => undefined };
    for (let round = 0; round < 3; round++) {
      const other = await SerialLink.open(near, { baudRate: 9600 }, nobody);
      const before = slave.requests.length;
      await other.write(sealed([1, 4, 0, 0, 0, 10]));
      await until('the request', () => slave.requests.length > before);
      await other.close();
      const meter = openMeter(`pzem:${near}?update_ms=1000&poll_ms=5&answer_ms=500&worst_ms=1500`);
      const seen = await watch(meter);
      await until('samples', () => seen.samples.length > 2);
      await meter.stop();
      await sleep(150); // its own last answer, which the next round is not about
      assert.ok(
        numbers(seen.samples).every((watts) => watts > before),
        'its own answers only',
      );
      assert.ok(
        seen.frames.some(({ fault }) => fault === 'unexpected'),
        'and the other is recorded',
      );
    }
    await slave.stop();
  }),
);

test.run();
