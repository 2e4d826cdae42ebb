/** Simulated Modbus meters end to end: a real pseudo-terminal, the driver, the profile of each. */
import { setTimeout as sleep } from 'node:timers/promises';
import { assert, suite } from '../../tools/suite.js';
import { endAll, reading } from '../helpers/readings.js';
import { simulated, steered } from '../helpers/simulated.js';

const test = suite('modbus meters on a pseudo-terminal');

for (const [kind, address, periodMs] of [
  ['pzem-dc', 'pzem:PORT?profile=pzem-dc', 60],
  ['hopi', 'hopi:PORT?', 60],
  ['sdm120', 'modbus:PORT?profile=sdm120', 250],
] as const)
  test(`${kind}: the watts that go in come out`, async () => {
    const { source, set } = steered(36.5);
    const meter = simulated(kind, { source, measuring: { periodMs } });
    await sleep(2 * periodMs); // it says nothing before its first value
    const read = await reading(`${address.replace('PORT', meter.path)}&update_ms=${String(periodMs)}`);
    for (const watts of [36.5, 12.3]) {
      set(watts);
      await read.until(`${String(watts)} W`, (sample) => Math.abs((sample.watts ?? 0) - watts) < 1e-5);
    }
    for (const { watts, volts, amps, flags } of read.samples.filter(({ watts: value }) => value !== null)) {
      // Volts, amperes and power factor of the simulator: a wrong map, scale or order of words would not fit.
      const apparent = (volts ?? 0) * (amps ?? 0) * (kind === 'pzem-dc' ? 1 : 0.55);
      assert.ok(Math.abs(apparent / (watts ?? 0) - 1) < 0.03, `${String(volts)} V, ${String(amps)} A`);
      assert.ok(flags.every((flag) => flag === 'back'));
    }
    assert.ok(read.meter.identity.simulated);
    assert.is(read.meter.counts.checksumErrors, 0);
    await read.meter.stop();
    meter.stop();
  });

test('values that stand still repeat to the last digit, and move before and after', async () => {
  const meter = simulated('hopi', {
    measuring: { periodMs: 30, noiseWatts: 0.5 },
    faults: ['frozen:at_s=1,for_s=1.5'],
  });
  await sleep(80);
  const read = await reading(`hopi:${meter.path}?update_ms=400&poll_ms=10`);
  const text = (): string[] => read.samples.map(({ watts, volts, amps }) => [watts, volts, amps].join());
  const longestRun = (): number => {
    let [run, most] = [0, 0];
    text().forEach((row, i, rows) => (most = Math.max(most, (run = row === rows[i - 1] ? run + 1 : 0))));
    return most;
  };
  await read.until('five alike', () => longestRun() >= 4);
  const frozen = text().at(-1);
  await read.until('movement again', () => text().at(-1) !== frozen);
  assert.ok(new Set(text()).size > 3, 'others differ');
  await read.meter.stop();
  meter.stop();
});

test("a meter's counter that begins at 0 again is told once, and the watts stay good", async () => {
  const meter = simulated('hopi', {
    watts: 2000,
    measuring: { periodMs: 30, powerFactor: 0.95 },
    faults: ['counter-reset:at_s=1'],
  });
  await sleep(80);
  const read = await reading(`hopi:${meter.path}?update_ms=400&poll_ms=10`);
  const reset = await read.until('the reset', ({ flags }) => flags.includes('counter-reset'));
  await read.count(read.samples.length + 5);
  assert.is(reset.watts, 2000);
  assert.is(read.samples.filter(({ flags }) => flags.includes('counter-reset')).length, 1);
  const before = read.samples[read.samples.indexOf(reset) - 1];
  assert.ok((before?.joules ?? 0) > (reset.joules ?? Infinity));
  await read.meter.stop();
  meter.stop();
});

test.after(endAll);

test.run();
