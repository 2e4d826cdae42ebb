import { setTimeout as sleep } from 'node:timers/promises';
import { ServerSerial } from 'modbus-serial';
import { openMeter } from '../../../power/meters/open.js';
import { seededRandom } from '../../../power/simulator/random.js';
import { assert, missing, suite } from '../../tools/suite.js';
import { modbusSlave, pzemAnswer, sealed } from '../helpers/modbus-slave.js';
import { ptyPair, type PtyPair } from '../helpers/pty-pair.js';
import { until, watch } from '../helpers/watch-meter.js';

const test = suite('modbus meter');
const needs = missing('socat');
const fast = 'update_ms=200&poll_ms=15&answer_ms=60&worst_ms=120';
/** For answers that always come, also on a busy machine. */
const patient = 'update_ms=200&poll_ms=15&answer_ms=2000&worst_ms=2000';
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

test.needs(
  needs,
  "another project's slave is read: registers of a PZEM, floats of an SDM120 and of a HOPI",
  () =>
    withPair(async ({ near, far }) => {
      const eastron = Buffer.alloc(256);
      eastron.writeFloatBE(229.5, 0);
      eastron.writeFloatBE(0.5, 12);
      eastron.writeFloatBE(100.25, 24);
      const hopi = Buffer.alloc(40);
      [100.25, 0.5, 229.5, 50, 0.87].forEach((value, i) => hopi.writeFloatLE(value, 4 * i));
      const pzem = Buffer.alloc(256);
      [2295, 500, 0, 1002, 0, 7, 0, 500, 87, 0].forEach((word, i) => pzem.writeUInt16BE(word, 2 * i));
      for (const [address, registers, watts] of [
        [`pzem:${near}?slave=9&${patient}`, pzem, 100.2],
        [`modbus:${near}?profile=sdm120&slave=9&baud=9600&${patient}`, eastron, 100.25],
        [`modbus:${near}?profile=hp-9800&slave=9&${patient}`, hopi, 100.25],
      ] as const) {
        const at = (register: number): number => registers.readUInt16BE(2 * register);
        const server = new ServerSerial(
          { getInputRegister: at, getHoldingRegister: at },
          { path: far, baudRate: 9600, unitID: 9 },
        );
        await new Promise<void>((resolve) => server.on('initialized', () => resolve()));
        const meter = openMeter(address);
        const seen = await watch(meter);
        await until('ten samples', () => seen.samples.length >= 10);
        await meter.stop();
        await new Promise<void>((resolve) => server.close(() => resolve()));
        assert.ok(seen.samples.every((sample) => sample.watts === watts && sample.flags.length === 0));
        assert.ok(
          seen.samples.every((sample, i) => i === 0 || sample.tNs > (seen.samples[i - 1]?.tNs ?? 0n)),
        );
        assert.ok(meter.identity.simulated, 'a pseudo-terminal is no meter');
        assert.is(meter.counts.timeouts, 0);
        assert.is(meter.counts.frames, meter.counts.samples);
        const count = meter.counts.requests;
        await sleep(60);
        assert.is(meter.counts.requests, count, 'stopped is stopped');
      }
    }),
);

test.needs(needs, 'never two requests at once, and none while an answer may still come', () =>
  withPair(async ({ near, far }) => {
    const answered: number[] = [];
    const asked: number[] = [];
    const slave = await modbusSlave(far, (request, n) => {
      asked.push(performance.now());
      if (n % 4 === 3) return [];
      setTimeout(() => answered.push(n), 30);
      return [{ bytes: pzemAnswer(n, request[5]), afterMs: 30 }];
    });
    const meter = openMeter(`pzem:${near}?${fast}`);
    await watch(meter);
    await until('12 requests', () => asked.length > 12);
    await meter.stop();
    await slave.stop();
    for (let n = 1; n < 12; n++)
      if (n % 4 === 0) assert.ok((asked[n] ?? 0) - (asked[n - 1] ?? 0) >= 115, `quiet before request ${n}`);
      else assert.ok((asked[n] ?? 0) - (asked[n - 1] ?? 0) >= 29, `an answer before request ${n}`);
    assert.ok(meter.counts.timeouts >= 3);
  }),
);

test.needs(
  needs,
  'checksums: wrong answers are dropped and counted; warn marks them, ignore takes them',
  () =>
    withPair(async ({ near, far }) => {
      const slave = await modbusSlave(far, (request, n) => {
        const bytes = pzemAnswer(n, request[5]);
        if (n % 2 === 1) bytes[12] = (bytes[12] ?? 0) ^ 0x10;
        return [{ bytes }];
      });
      for (const [crc, flagged, good] of [
        ['strict', 0, 1],
        ['warn', 1, 1],
        // Taken as good, so that they are no errors either.
        ['ignore', 0, 2],
      ] as const) {
        const meter = openMeter(`pzem:${near}?${fast}&crc=${crc}`);
        const from = slave.requests.length;
        const seen = await watch(meter);
        await until('20 requests', () => slave.requests.length > from + 20);
        await meter.stop();
        const marked = seen.samples.filter(({ flags }) => flags.includes('checksum')).length;
        assert.is(meter.counts.checksumErrors >= 8, crc !== 'ignore', crc);
        assert.is(seen.frames.filter(({ fault }) => fault === 'unchecked').length >= 8, crc === 'ignore');
        assert.is(marked > 0, flagged > 0, crc);
        const share = (seen.samples.length - marked) / (meter.counts.checksumErrors + meter.counts.frames);
        assert.is(Math.round(share * 2), good, crc);
      }
      await slave.stop();
    }),
);

test.needs(needs, 'bits flipped at 0.1, 5 and 50 %: what is pushed was sent, the rest is counted', () =>
  withPair(async ({ near, far }) => {
    const random = seededRandom(7);
    // A busy machine may give an answer later than worst_ms: that is a timeout, and never another request's answer.
    for (const share of [0.001, 0.05, 0.5]) {
      let flips = 0;
      const slave = await modbusSlave(far, (request, n) => {
        const bytes = pzemAnswer(n + 1, request[5]);
        // The first answer is good, so that the meter is known.
        if (n === 0 || random() >= share) return [{ bytes }];
        flips += 1;
        const bit = Math.floor(random() * bytes.length * 8);
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        return [{ bytes }];
      });
      const meter = openMeter(`pzem:${near}?update_ms=200&poll_ms=1&answer_ms=150&worst_ms=180`);
      const seen = await watch(meter);
      await until('60 requests', () => slave.requests.length > 60, 30_000);
      await meter.stop();
      await slave.stop();
      const sent = seen.frames.filter(({ direction }) => direction === 'sent');
      for (const one of seen.samples.filter(({ watts }) => watts !== null))
        assert.is(sent.filter(({ tNs }) => tNs < one.tNs).length, one.watts);
      const { checksumErrors, torn, timeouts } = meter.counts;
      assert.ok(checksumErrors + torn + timeouts >= flips - 1, `${flips} flips at ${share}`);
      assert.ok(checksumErrors <= flips + timeouts);
      if (share > 0.1) assert.ok(flips > 15);
    }
  }),
);

test.needs(needs, 'unplugged: one lost sample, then back by itself', () =>
  withPair(async (pair) => {
    const answer = (request: Uint8Array): { bytes: Uint8Array }[] => [{ bytes: pzemAnswer(10, request[5]) }];
    let slave = await modbusSlave(pair.far, answer);
    const meter = openMeter(`pzem:${pair.near}?${fast}`);
    const seen = await watch(meter);
    await until('samples', () => seen.samples.length > 5);
    await pair.unplug();
    await slave.stop();
    await until('lost', () => seen.samples.at(-1)?.flags.includes('lost') === true);
    const count = seen.samples.length;
    await sleep(300);
    assert.is(seen.samples.length, count, 'nothing is repeated or invented');
    await pair.plug();
    slave = await modbusSlave(pair.far, answer);
    await until('back', () => seen.samples.length > count + 3);
    await meter.stop();
    await slave.stop();
    assert.equal(seen.samples[count - 1], {
      ...{ tNs: seen.samples[count - 1]?.tNs, flags: ['lost'] },
      ...{ watts: null, volts: null, amps: null, joules: null },
    });
    assert.equal(seen.samples[count]?.flags, ['back']);
    assert.equal(seen.samples[count + 1]?.flags, []);
    assert.is(seen.samples.filter(({ flags }) => flags.includes('lost')).length, 1);
    assert.is(meter.counts.reconnects, 1);
  }),
);

test.needs(needs, 'silent with an open port: one lost sample after 2.5 update periods, then back', () =>
  withPair(async ({ near, far }) => {
    let quiet = false;
    const slave = await modbusSlave(far, (request) => (quiet ? [] : [{ bytes: pzemAnswer(10, request[5]) }]));
    const meter = openMeter(`pzem:${near}?${fast}`);
    const seen = await watch(meter);
    await until('samples', () => seen.samples.length > 5);
    quiet = true;
    await until('lost', () => seen.samples.at(-1)?.flags.includes('lost') === true);
    const [before, lost] = seen.samples.slice(-2);
    assert.ok((lost?.tNs ?? 0n) - (before?.tNs ?? 0n) > 500_000_000n);
    await sleep(100);
    quiet = false;
    await until('back', () => seen.samples.at(-1)?.flags.length === 0);
    await meter.stop();
    await slave.stop();
    assert.is(seen.samples.filter(({ flags }) => flags.includes('lost')).length, 1);
    assert.is(seen.samples.filter(({ flags }) => flags.includes('back')).length, 1);
  }),
);

test.needs(needs, 'a device that refuses the shorter block is not asked for it again', () =>
  withPair(async ({ near, far }) => {
    const refuse = Uint8Array.from([0x01, 0x84, 0x02, 0xc2, 0xc1]);
    const slave = await modbusSlave(far, (request, n) => {
      if (n === 3) return [];
      return [{ bytes: request[5] === 10 ? pzemAnswer(n) : refuse }];
    });
    const meter = openMeter(`pzem:${near}?${fast}`);
    const seen = await watch(meter);
    await until('samples', () => seen.samples.length > 20);
    await meter.stop();
    await slave.stop();
    assert.is(slave.requests.filter((request) => request[5] === 9).length, 1);
    assert.is(seen.frames.filter(({ fault }) => fault === 'exception').length, 1);
  }),
);

test.needs(needs, 'energy that falls is told; the step of a scaled meter is scaled', () =>
  withPair(async ({ near, far }) => {
    const slave = await modbusSlave(far, (request, n) => {
      const bytes = [...pzemAnswer(10, request[5]).subarray(0, -2)];
      bytes[14] = n === 5 ? 1 : 4;
      return [{ bytes: sealed(bytes) }];
    });
    const meter = openMeter(`pzem:${near}?${fast}&scale=0.25`);
    const seen = await watch(meter);
    await until('samples', () => seen.samples.length > 8);
    await meter.stop();
    await slave.stop();
    assert.is(meter.traits.resolutionWatts, 0.025);
    assert.ok(numbers(seen.samples).every((watts) => watts === 2.5));
    assert.is(seen.samples.filter(({ flags }) => flags.includes('counter-reset')).length, 1);
  }),
);

test.run();
