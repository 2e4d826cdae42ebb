/** Text and SCPI meters end to end: simulated meter, real pseudo-terminal, real serialport, driver. */
import { setTimeout as sleep } from 'node:timers/promises';
import { SpikedError } from '../../../client/protocol/errors.js';
import { openMeter } from '../../../power/meters/open.js';
import { measureUpdatePeriod } from '../../../power/trace/update-period.js';
import { assert, suite } from '../../tools/suite.js';
import { endAll, reading } from '../helpers/readings.js';
import { simulated, steered, type SimulatedOptions } from '../helpers/simulated.js';
import { every, figuresOf, reading as windowReading } from '../helpers/windows.js';

const test = suite('text meters on a serial port');
const periodMs = 40;

const addresses: Readonly<Record<string, (path: string) => string>> = {
  wattsup: (path) => `wattsup:${path}?update_ms=${String(periodMs)}`,
  lines: (path) => `lines:${path}?update_ms=${String(periodMs)}`,
  wt310: (path) => `scpi:${path}?profile=wt310&update_ms=${String(periodMs)}&timeout_ms=100`,
  gpm8213: (path) => `scpi:${path}?profile=gpm8213&update_ms=${String(periodMs)}&timeout_ms=100`,
  ute9800: (path) => `scpi:${path}?profile=ute9800&update_ms=${String(periodMs)}&timeout_ms=100`,
};

/** A meter with its first value. */
async function begin(kind: string, options: SimulatedOptions = {}) {
  const meter = simulated(kind, { ...options, measuring: { periodMs, ...options.measuring } });
  await sleep(2 * periodMs);
  return { meter, address: addresses[kind]?.(meter.path) ?? '' };
}

async function refusal(address: string): Promise<SpikedError> {
  const error = await reading(address).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.instance(error, SpikedError);
  return error as SpikedError;
}

for (const kind of Object.keys(addresses))
  test(`${kind}: the watts that go in come out, step by step`, async () => {
    const { source, set } = steered(5.2);
    const { meter, address } = await begin(kind, { source });
    const read = await reading(address);
    for (const watts of [5.2, 12.3, 3.1]) {
      set(watts);
      await read.until(`${String(watts)} W`, (sample) => Math.abs((sample.watts ?? 0) - watts) < 1e-6);
    }
    const { identity, counts } = read.meter;
    assert.is(identity.simulated, true);
    assert.ok(counts.samples >= 3);
    // The first line may have begun before the port was opened.
    assert.equal([counts.torn, counts.timeouts], [kind === 'lines' ? 1 : 0, 0]);
    if (kind !== 'lines') assert.ok(identity.model !== null && identity.firmware !== null);
    if (kind === 'wattsup' || kind === 'wt310' || kind === 'gpm8213')
      for (const { volts, amps } of read.samples.filter(({ watts }) => watts !== null))
        assert.ok((volts ?? 0) > 220 && (amps ?? 0) > 0);
    // On a machine that stands still for a moment a sample may be lost.
    for (const { watts, flags } of read.samples.filter((sample) => !sample.flags.includes('lost')))
      assert.ok(watts !== null && watts > 3.09 && watts < 12.31 && flags.every((flag) => flag === 'back'));
    await read.meter.stop();
    meter.stop();
  });

for (const kind of ['wattsup', 'wt310', 'ute9800'])
  test(`${kind}: over range, and no value, are told and are no number`, async () => {
    const { meter, address } = await begin(kind, {
      faults: ['saturated:after=5,count=5', 'no-value:after=15,count=5'],
    });
    const read = await reading(address);
    await read.until('over range', ({ flags }) => flags.includes('saturated'));
    const none = await read.until('no value', ({ flags }) => flags.includes('no-value'));
    assert.is(none.watts, null);
    await read.until(
      'a good one',
      ({ tNs, flags }) => tNs > none.tNs && flags.every((flag) => flag === 'back'),
    );
    await read.meter.stop();
    meter.stop();
  });

for (const kind of ['wt310', 'lines'])
  test(`${kind}: negative power is flagged`, async () => {
    const { meter, address } = await begin(kind, { watts: 8, faults: ['negative'] });
    const read = await reading(address);
    const sample = await read.until('a negative one', ({ flags }) => flags.includes('negative'));
    assert.is(sample.watts, -8);
    await read.meter.stop();
    meter.stop();
  });

for (const kind of ['gpm8213', 'wt310'])
  test(`${kind}: an answer that is late is never the next one's`, async () => {
    const { source, set } = steered(5);
    // Of 5 W, asked before the step to 20 W, and coming 60 ms after the driver gave it up.
    const { meter, address } = await begin(kind, { source, faults: ['late:after=20,ms=160'] });
    const read = await reading(address);
    const end = setInterval(() => {
      if (read.meter.counts.timeouts > 0) set(20);
    }, 5);
    const after = await read.until('20 W', ({ watts }) => watts === 20);
    clearInterval(end);
    assert.ok(read.meter.counts.late >= 1);
    const late = read.frames.find(({ fault }) => fault === 'late');
    assert.ok(late !== undefined && late.tNs < after.tNs);
    assert.ok(read.samples.every(({ tNs }) => tNs !== late.tNs));
    await read.meter.stop();
    meter.stop();
  });

for (const kind of ['lines', 'gpm8213'])
  test(`${kind}: silence is a loss, told once, and the meter comes back`, async () => {
    const { meter, address } = await begin(kind, { faults: ['silent:after=15,count=4'] });
    const read = await reading(address);
    await read.until('a loss', ({ flags }) => flags.includes('lost'), 20_000);
    const back = await read.until('a return', ({ flags }) => flags.includes('back'), 20_000);
    assert.is(back.watts, 10);
    assert.is(read.samples.filter(({ flags }) => flags.includes('lost')).length, 1);
    await read.meter.stop();
    meter.stop();
  });

for (const kind of ['wattsup'])
  test(`${kind}: unplugged and plugged in again: lost, back, started anew`, async () => {
    const { meter, address } = await begin(kind, { faults: ['hang-up:after=15,back_s=0.1'] });
    const read = await reading(address);
    await read.until('a loss', ({ flags }) => flags.includes('lost'), 20_000);
    const back = await read.until('a return', ({ flags }) => flags.includes('back'), 20_000);
    assert.is(back.watts, 10);
    assert.is(meter.opened(), 2);
    assert.is(read.meter.counts.reconnects, 1);
    await read.meter.stop();
    meter.stop();
  });

for (const kind of ['wattsup', 'gpm8213'])
  test(`${kind}: torn, turned and lost bytes and noise cost samples, never a wrong number of digits`, async () => {
    const faults = [
      'torn:after=8,every=5,rate=1',
      'noise:after=8,every=7,count=9',
      'drop:after=8,every=9,bytes=9',
    ];
    const { meter, address } = await begin(kind, { faults });
    const read = await reading(address);
    await read.until(
      'a damaged frame',
      () => read.frames.filter(({ fault }) => fault !== undefined).length > 4,
      20_000,
    );
    const n = read.samples.length;
    await read.count(n + 3);
    assert.ok(read.samples.filter(({ watts }) => watts === 10).length * 2 > read.samples.length);
    await read.meter.stop();
    meter.stop();
  });

for (const kind of ['wattsup', 'lines'])
  test(`${kind}: constant watts are new values, each of them`, async () => {
    const { meter, address } = await begin(kind, { measuring: { wattsStep: 1, noiseVolts: 0 } });
    const read = await reading(address);
    await read.count(15);
    await read.meter.stop();
    meter.stop();
    assert.is(new Set(read.samples.map(({ watts }) => watts).filter((watts) => watts !== null)).size, 1);
    const measured = await measureUpdatePeriod(read.samples, read.meter.traits);
    assert.equal([measured.basis, measured.repeated], ['samples', 0]);

    // At the meter's own pace of a second: the whole of a run is covered, by as many values as seconds.
    const { traits } = openMeter(`${kind}:/dev/none`);
    const rows = every(1, -2, 62).map((t) => windowReading(t, 10));
    const period = await measureUpdatePeriod(rows, traits);
    assert.is(period.periodNs, 1e9);
    const figures = figuresOf(rows, { traits, updatePeriodNs: period.periodNs });
    assert.is(figures.valid, true);
    assert.is(figures.coverage, 1);
    assert.ok(figures.update_periods >= 55);
  });

test('wattsup: the end of it stops the stream', async () => {
  const { meter, address } = await begin('wattsup');
  const first = await reading(address);
  await first.count(3);
  await first.meter.stop();
  assert.ok(
    first.frames.some(
      ({ direction, bytes }) => direction === 'sent' && Buffer.from(bytes).toString() === '#L,W,0;',
    ),
  );
  // Whoever opens the port next hears nothing, but for what was on its way.
  await sleep(100);
  const error = await refusal(`lines:${meter.path}?baud=115200&update_ms=${String(periodMs)}`);
  assert.is(error.code, 'ERR_METER_SILENT');
  meter.stop();
});

test('wattsup: a stream that an earlier program left running is no obstacle', async () => {
  const { meter, address } = await begin('wattsup');
  const first = await reading(address);
  await first.count(2);
  const again = await reading(address).catch((error: unknown) => error);
  assert.is((again as SpikedError).code, 'ERR_METER_UNREACHABLE'); // locked
  await first.meter.stop();
  const next = await reading(address);
  await next.count(2);
  await next.meter.stop();
  meter.stop();
});

test('wattsup: hardware 1 is found at 19200 baud', async () => {
  const { meter, address } = await begin('wattsup', { baud: 19_200 });
  const read = await reading(address);
  assert.match(read.meter.identity.model ?? '', /hardware 8\.1/);
  assert.is((await read.count(1))[0]?.watts, 10);
  await read.meter.stop();
  meter.stop();
});

test('what is no such meter is refused with what answered', async () => {
  const gpm = await begin('gpm8213');
  const other = await refusal(`scpi:${gpm.meter.path}?profile=wt310&timeout_ms=100`);
  assert.is(other.code, 'ERR_METER_MISMATCH');
  assert.match(other.message, /expected a wt310, found "GWInstek,GPM-8213,SIM000001,V1\.05"/);
  gpm.meter.stop();

  const pushed = await begin('lines');
  const chatter = await refusal(`scpi:${pushed.meter.path}?profile=ute9800&timeout_ms=100`);
  assert.is(chatter.code, 'ERR_METER_MISMATCH');
  const column = await refusal(`lines:${pushed.meter.path}?update_ms=${String(periodMs)}&column=2`);
  assert.is(column.code, 'ERR_METER_MISMATCH');
  assert.match(column.message, /found the line "10\.000"/);
  pushed.meter.stop();

  const modbus = await begin('pzem');
  const silent = await refusal(`scpi:${modbus.meter.path}?profile=wt310&timeout_ms=200`);
  assert.is(silent.code, 'ERR_METER_SILENT');
  assert.match(silent.message, /\*IDN\?/);
  modbus.meter.stop();
});

test.after(endAll);

test.run();
