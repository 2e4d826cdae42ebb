import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sample } from '../../../power/meters/meter.js';
import { importCsv, type ImportOptions, type ImportResult } from '../../../power/trace/import.js';
import { parseColumns } from '../../../power/trace/import-columns.js';
import { openTrace } from '../../../power/trace/reader.js';
import { json } from '../../ctl/helpers/spikectl.js';
import { collect, fails } from '../helpers/traces.js';
import { assert, suite, tempDir } from '../../tools/suite.js';

const test = suite('import of CSV');
const base = tempDir();
let files = 0;

type Given = Omit<ImportOptions, 'columns'> & { readonly columns?: string };

function start(
  text: string,
  { columns = 'time=1,watts=2', ...options }: Given = {},
): { dir: string; work: Promise<ImportResult> } {
  const name = join(base, String(files++));
  writeFileSync(`${name}.csv`, text);
  return { dir: name, work: importCsv(`${name}.csv`, name, { ...options, columns: parseColumns(columns) }) };
}

async function imported(
  text: string,
  given?: Given,
): Promise<{ samples: Sample[]; result: ImportResult; dir: string }> {
  const { dir, work } = start(text, given);
  const result = await work;
  return { dir, result, samples: await collect((await openTrace(dir)).samples()) };
}

async function refused(
  text: string,
  given: Given,
  pattern: RegExp,
  code = 'ERR_TRACE_INVALID',
): Promise<void> {
  let dir = '';
  await fails(
    () => {
      const started = start(text, given);
      ({ dir } = started);
      return started.work;
    },
    code,
    pattern,
  );
  assert.not.ok(existsSync(join(dir, 'trace.json')), 'no trace is left');
  assert.not.ok(existsSync(join(dir, 'samples.csv')));
}

const pairs = (samples: readonly Sample[]): [number, number | null][] =>
  samples.map(({ tNs, watts }) => [Number(tNs) / 1e9, watts]);

test('columns by number, with and without titles; by title, quoted, with units', async () => {
  const want = [
    [1, 10.3],
    [2.5, 10.4],
  ];
  assert.equal(pairs((await imported('1,10.3\n2.5,10.4\n')).samples), want);
  assert.equal(pairs((await imported('t,p\n1,10.3\n2.5,10.4')).samples), want);
  const text = '\ufeff"Time; s";"P, [mW]";U;I\r\n1000;10300;230.1;87\r\n\r\n2500;10400;230.2;88\r\n';
  const { samples, result, dir } = await imported(text, {
    columns: 'time=Time; s:ms,watts=P, [mW]:mW,volts=U,amps=I:mA',
  });
  assert.equal(pairs(samples), want);
  assert.equal([samples[0]?.volts, samples[0]?.amps], [230.1, 0.087]);
  assert.is(result.stepWatts, 0.1);
  const { header } = await openTrace(dir);
  assert.equal(header.imported?.columns, {
    time: 'Time; s:ms',
    watts: 'P, [mW]:mW',
    volts: 'U:V',
    amps: 'I:mA',
  });
  assert.is(header.anchor, null);
  assert.is(header.traits.updatePeriodNs, 1.5e9);
});

test('decimal comma, semicolons, tabs, lines to skip', async () => {
  const want = [
    [1.25, 10.3],
    [2.25, 10.4],
  ];
  const comma = await imported('1,25;10,3\n2,25;10,4\n', { decimalComma: true });
  assert.equal(pairs(comma.samples), want);
  const tabs = await imported('made by X\n\nt\tp\n1.25\t10.3\n2.25\t10.4\n', {
    skip: 2,
    columns: 'time=t,watts=p',
  });
  assert.equal(pairs(tabs.samples), want);
  const given = await imported('1.25|10.3\n2.25|10.4\n', { delimiter: '|' });
  assert.equal(pairs(given.samples), want);
});

test('times: every unit to the nanosecond, wall clocks with fractions and zones, an anchor', async () => {
  const first = async (cells: string[], unit: string, anchor?: string): Promise<bigint[]> =>
    (
      await imported(cells.map((cell, i) => `${cell},1${String(i)}\n`).join(''), {
        columns: `time=1:${unit},watts=2`,
        ...(anchor !== undefined && { anchor }),
      })
    ).samples.map(({ tNs }) => tNs);
  assert.equal(await first(['1760000000.123456789', '1760000001'], 's'), [
    1760000000123456789n,
    1760000001000000000n,
  ]);
  assert.equal(await first(['1.5e3', '1501'], 'ms'), [1_500_000_000n, 1_501_000_000n]);
  assert.equal(await first(['1', '2.0004'], 'us'), [1000n, 2000n]);
  assert.equal(await first(['9007199254740993', '9007199254740995'], 'ns'), [
    9007199254740993n,
    9007199254740995n,
  ]);
  const utc = BigInt(Date.UTC(2026, 2, 29, 0, 59, 59)) * 1_000_000n;
  assert.equal(await first(['2026-03-29 00:59:59.5', '2026-03-29T02:00:00.25+01:00'], 'wall'), [
    utc + 500_000_000n,
    utc + 1_250_000_000n,
  ]);
  assert.equal(
    await first(['2026-03-29 01:00:00', '2026/03/29 01:00:01'], 'wall', '2026-03-29 00:59:59=5000000000'),
    [6_000_000_000n, 7_000_000_000n],
  );
  assert.equal(await first(['10', '11'], 's', '10=77'), [77n, 1_000_000_077n]);
});

test('what has no value is a sample without one; negative watts are wires the wrong way round', async () => {
  const { samples, result } = await imported('1,10\n2,\n3,NaN\n4,--\n5,9.91E37\n6,-10\n7,11\n');
  assert.equal(
    samples.map(({ watts, flags }) => [watts, flags.join()]),
    [
      [10, ''],
      [null, 'no-value'],
      [null, 'no-value'],
      [null, 'no-value'],
      [null, 'no-value'],
      [-10, 'negative'],
      [11, ''],
    ],
  );
  assert.is(result.unusable, 5);
  const direct = await imported('1,-10,5\n2,-12,5\n', {
    columns: 'time=1,amps=2:mA,volts=3',
    current: 'direct',
  });
  assert.equal(
    direct.samples.map(({ watts, flags }) => [watts, flags.length]),
    [
      [-0.05, 0],
      [-0.06, 0],
    ],
  );
});

test('order: equal rows merged, contradictions and steps back refused with the line, sorted on demand with a count', async () => {
  const merged = await imported('1,10\n1,10\n2,11\n');
  assert.is(merged.result.merged, 1);
  assert.is(merged.samples.length, 2);
  await refused(
    't,p\n1,10\n1,11\n',
    {},
    /\.csv:3: expected one reading at 1000000000, found a second with other values/,
  );
  await refused(
    '1,10\n3,11\n2,12\n',
    {},
    /\.csv:3: expected a time after 3000000000, .*found 2000000000, 1 s earlier/,
  );
  await refused('3,10\n2,11\n1,12\n', {}, /\.csv:2: expected a time after/);
  const sorted = await imported('1,10\n3,12\n2,11\n5,14\n4,13\n5,14\n', { sort: true });
  assert.equal(
    pairs(sorted.samples),
    [1, 2, 3, 4, 5].map((t) => [t, 9 + t]),
  );
  assert.is(sorted.result.moved, 2);
  assert.is(sorted.result.merged, 1);
  await refused('1,10\n3,12\n2,11\n3,13\n', { sort: true }, /\.csv:4: expected one reading at 3000000000/);
});

test('everything else is refused with file and line', async () => {
  await refused('1,10\n2,1x\n', {}, /\.csv:2: watts: expected a number, found "1x"/);
  await refused('1,10\nabc,11\n', {}, /\.csv:2: time: expected a number, found "abc"/);
  await refused('1,10\n2\n', {}, /\.csv:2: watts: expected at least 2 fields, found 1/);
  await refused('1,10\n2,"11\n', {}, /\.csv:2: expected a closing quote/);
  await refused(
    '1;10,5\n2;1.000,5\n',
    { decimalComma: true },
    /\.csv:2: watts: expected a number, found "1\.000,5"/,
  );
  await refused(
    't,p\n1,2\n',
    { columns: 'time=t,watts=P' },
    /\.csv:1: watts: expected a column "P", found 2: t, p/,
  );
  await refused('t,p,p\n1,2,3\n', { columns: 'time=t,watts=p' }, /\.csv:1: .*found 2; give its number/);
  await refused('1,2\n', { columns: 'time=1,watts=3' }, /\.csv:1: watts: expected a column "3"/);
  await refused('2026-02-30 00:00:00,1\n', { columns: 'time=1:wall,watts=2' }, /\.csv:1: time: there is no/);
  await refused(
    '2026-02-03 00:00:00,1\n2026-02-30 00:00:00,1\n',
    { columns: 'time=1:wall,watts=2' },
    /\.csv:2: time: there is no "2026-02-30 00:00:00"/,
  );
  await refused(
    '2026-02-03 00:00:00,1\n03.02.2026 00:00,1\n',
    { columns: 'time=1:wall,watts=2' },
    /\.csv:2: time: expected one like/,
  );
  await refused('-1,10\n2,11\n', {}, /\.csv:1: expected a time of 0 or more/);
  await refused('', {}, /expected at least 2 rows, found 0/);
  await refused('1,10\n2,10\n', {}, /expected different powers to take the step from/);
});

test('a wrong unit is caught by volts times amps, either way', async () => {
  const rows = (watts: number, amps: number): string =>
    Array.from(
      { length: 20 },
      (_, i) => `${String(i)},${String(watts + i / 100)},230,${String(amps)}\n`,
    ).join('');
  const columns = 'time=1,watts=2,volts=3,amps=4';
  assert.is((await imported(rows(10, 0.087), { columns })).result.units.verdict, 'ok');
  await refused(
    rows(10_300, 0.087),
    { columns },
    /Watts are 515 times volts times amps.* milliwatts read as watts/,
  );
  await refused(rows(103, 0.087), { columns }, /Watts are 5\.\d+ times .*a factor of about 10/);
  await refused(rows(10.3, 87), { columns }, /no load has such a power factor: .*milliamperes as amperes/);
  await imported(rows(10_300, 0.087), { columns: columns.replace('watts=2', 'watts=2:mW') });
  await refused(rows(10, 0.087), { columns, current: 'direct' }, /of direct current they are equal/);
});

test('column maps that mean nothing', async () => {
  for (const [columns, pattern] of [
    ['watts=2', /expected time/],
    ['time=1', /expected watts/],
    ['time=1,volts=2', /expected watts/],
    ['time=1,watts=2,power=3', /watts: expected|--columns/],
    ['time=1,watts=2:PS', /expected a unit of W, mW, uW, kW, found "PS"/],
    ['time=1,time=2,watts=3', /time comes twice/],
    ['time=,watts=3', /time: expected a column/],
    ['zeit=1', /expected QUANTITY=COLUMN/],
  ] as const) {
    await refused(
      '1,2\n2,3\n',
      { columns },
      pattern,
      columns.includes('power') ? 'ERR_TRACE_INVALID' : 'ERR_INVALID_ARGUMENT',
    ).catch((error: unknown) => {
      throw new Error(`${columns}: ${String(error)}`);
    });
  }
  await refused(
    '1,2,3\n',
    { columns: 'time=1,volts=2,amps=3' },
    /direct current only/,
    'ERR_INVALID_ARGUMENT',
  );
  await refused('1,2\n2,3\n', { anchor: '1' }, /--anchor: expected TIME=NS/, 'ERR_INVALID_ARGUMENT');
});

test('the command', async () => {
  const dir = join(base, 'command');
  writeFileSync(`${dir}.csv`, 'Zeit;Leistung\n2026-01-02 03:04:05,5;10,3\n2026-01-02 03:04:06,5;10,5\n');
  const args = ['energy', 'import', `${dir}.csv`, '-o', dir, '--columns', 'time=Zeit:wall,watts=Leistung'];
  const result = await json([...args, '--decimal', 'comma', '--simulated', '--accuracy', '0.01']);
  assert.equal([result['samples'], result['step_watts'], result['update_period_s']], [2, 0.2, 1]);
  const { header } = await openTrace(dir);
  assert.ok(header.meter.simulated);
  assert.is(header.traits.accuracy, 0.01);
});

test.run();
