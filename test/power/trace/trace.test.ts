import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Frame, Sample } from '../../../power/meters/meter.js';
import { collectSamples, openTrace } from '../../../power/trace/reader.js';
import { createTrace } from '../../../power/trace/writer.js';
import {
  appendSamples,
  collect,
  fails,
  header,
  replaceSamples,
  sample,
  samplesOf,
} from '../helpers/traces.js';
import { assert, suite, tempDir } from '../../tools/suite.js';

const test = suite('traces');
const base = tempDir();
let folders = 0;
const fresh = (): string => join(base, String(folders++), 'trace');

const second = 1_000_000_000n;
const some: Sample[] = [
  sample(5n * second, 10.3, { volts: 230.4, amps: 0.087, joules: 4442.4 }),
  sample(6n * second, 0.1 + 0.2, { flags: ['back', 'counter-reset'] }),
  sample(7n * second, null, { flags: ['lost'] }),
  sample(8n * second, -1.5e-7, { flags: ['negative'] }),
];
const frames: Frame[] = [
  { tNs: 5n * second, direction: 'sent', bytes: Buffer.from('010400', 'hex') },
  { tNs: 5n * second, direction: 'received', bytes: Buffer.from('ff', 'hex'), fault: 'torn' },
];

async function written(samples: readonly Sample[]): Promise<string> {
  const dir = fresh();
  const trace = await createTrace(dir, header());
  for (const row of samples) trace.sample(row);
  await trace.close();
  return dir;
}

const times = (rows: readonly Sample[]): number[] => rows.map(({ tNs }) => Number(tNs / second));

test('what was written is read to the last bit, header and frames too', async () => {
  const dir = fresh();
  const given = header();
  const trace = await createTrace(dir, given);
  for (const row of some) trace.sample(row);
  for (const frame of frames) trace.frame(frame);
  assert.is((await openTrace(dir)).header.end, undefined, 'cut off now, it has no end');
  await trace.close();
  assert.is(trace.written, 4);
  const read = await openTrace(dir);
  assert.equal({ ...read.header, end: undefined }, { ...given, end: undefined });
  assert.ok(given.anchor && read.header.end && read.header.end.monotonicNs > given.anchor.monotonicNs);
  assert.equal(await collect(read.samples()), some);
  assert.equal(
    (await collect(read.frames())).map((frame) => ({ ...frame, bytes: Buffer.from(frame.bytes) })),
    frames,
  );
  assert.is(read.torn, null);
});

test('sync leaves everything readable while the trace goes on', async () => {
  const dir = fresh();
  const trace = await createTrace(dir, header());
  trace.sample(sample(1n, 1));
  trace.sample(sample(2n, 2));
  await trace.sync();
  const read = await openTrace(dir);
  trace.sample(sample(3n, 3));
  await trace.sync();
  assert.is((await collect(read.samples())).length, 2, 'as it was when opened');
  assert.is((await collect((await openTrace(dir)).samples())).length, 3);
  await trace.close();
});

test('ranges, at both limits, between samples, outside', async () => {
  const read = await openTrace(await written([1, 2, 3, 4, 5].map((t) => sample(BigInt(t) * second, t))));
  const range = async (from: bigint, to?: bigint): Promise<number[]> =>
    times(await collectSamples(read, from, to));
  assert.equal(await range(2n * second, 4n * second), [2, 3, 4]);
  assert.equal(await range(2n * second + 1n, 4n * second - 1n), [3]);
  assert.equal(await range(0n, 0n), []);
  assert.equal(await range(5n * second), [5]);
  assert.equal(await range(5n * second + 1n), []);
});

test('a range in a file of many blocks, from every place', async () => {
  const n = 30_000;
  const rows = Array.from({ length: n }, (_, i) =>
    sample(BigInt(i) * 100n + 1_000_000n, i % 7, { volts: 230 + (i % 13) / 10 }),
  );
  const read = await openTrace(await written(rows));
  for (let i = 0; i < n; i += 997) {
    const from = BigInt(i) * 100n + 1_000_000n;
    for (const off of [-1n, 0n, 1n]) {
      const [first] = await collectSamples(read, from + off, from + 250n);
      assert.is(first?.tNs, off > 0n ? from + 100n : from, `${String(i)} ${String(off)}`);
    }
  }
});

test('a folder that holds a trace is not written to', async () => {
  const dir = await written(some);
  const before = samplesOf(dir);
  await fails(() => createTrace(dir, header()), 'ERR_INVALID_ARGUMENT', /expected a folder without a trace/);
  assert.is(samplesOf(dir), before);
});

test('a torn last line is left out and told, also when a power cut filled it with zeros', async () => {
  for (const tail of ['9000000000,10.', '\0'.repeat(70_000), '9000000000,1\0\0\0']) {
    const dir = await written(some);
    appendSamples(dir, tail);
    const read = await openTrace(dir);
    assert.match(
      read.torn ?? '',
      new RegExp(`samples.csv: the last line was cut off; its ${String(tail.length)} bytes`),
    );
    assert.is((await collect(read.samples())).length, 4);
    assert.equal(times(await collectSamples(read, 8n * second)), [8]);
  }
  const dir = await written([]);
  replaceSamples(dir, 't_ns,wa');
  const read = await openTrace(dir);
  assert.match(read.torn ?? '', /cut off/);
  assert.equal(await collect(read.samples()), []);
});

test('anything else malformed is refused with file and line', async () => {
  const cases: [line: string, text: RegExp][] = [
    ['9000000000,1,2,3,4', /samples\.csv:6: expected 6 fields .*, found 5/],
    ['9000000000,1,2,3,4,,', /:6: expected 6 fields/],
    ['9e9,1,,,,', /:6: t_ns: expected nanoseconds, found "9e9"/],
    ['-9,1,,,,', /:6: t_ns/],
    ['9000000000,NaN,,,,', /:6: watts: expected a number or nothing, found "NaN"/],
    ['9000000000,1,Infinity,,,', /:6: volts/],
    ['9000000000,1,,1e999,,', /:6: amps/],
    ['9000000000,1,,,0x10,', /:6: joules/],
    ['9000000000,1 ,,,,', /:6: watts/],
    ['9000000000,1,,,,odd', /:6: flags: expected saturated, .*, found "odd"/],
    ['9000000000,1,,,,lost\r', /:6: flags/],
    ['', /:6: expected 6 fields/],
    ['x'.repeat(200_000), /samples\.csv: expected lines of at most 64 KiB/],
  ];
  for (const [line, text] of cases) {
    const dir = await written(some);
    appendSamples(dir, `${line}\n9900000000,1,,,,\n`);
    const read = await openTrace(dir);
    await fails(() => collect(read.samples()), 'ERR_TRACE_INVALID', text);
  }
});

test('times out of order and contradictions have a line; the same reading twice is one', async () => {
  const dir = await written(some);
  appendSamples(dir, '9000000000,1,,,,\n9000000000,1,,,,\n10000000000,2,,,,\n');
  assert.equal(times(await collect((await openTrace(dir)).samples())), [5, 6, 7, 8, 9, 10]);
  appendSamples(dir, '10000000000,2,,,,lost\n');
  await fails(
    async () => collect((await openTrace(dir)).samples()),
    'ERR_TRACE_INVALID',
    /samples\.csv:9: expected one reading at 10000000000, found a second with other values: 2 W lost after 2 W/,
  );
  const back = await written(some);
  appendSamples(back, '7500000000,1,,,,\n');
  await fails(
    async () => collect((await openTrace(back)).samples()),
    'ERR_TRACE_INVALID',
    /samples\.csv:6: expected a time after 8000000000, .*, found 7500000000, 0\.5 s earlier/,
  );
});

test('the line number is right behind a range, too', async () => {
  const rows = Array.from({ length: 20_000 }, (_, i) => sample(BigInt(i + 1), i));
  const dir = await written(rows);
  appendSamples(dir, '20001,x,,,,\n');
  const read = await openTrace(dir);
  await fails(() => collectSamples(read, 19_990n), 'ERR_TRACE_INVALID', /samples\.csv:20002: watts/);
});

test('headers: absent, no JSON, another format or version, a field too many', async () => {
  const dir = await written(some);
  const path = join(dir, 'trace.json');
  const text = readFileSync(path, 'utf8');
  const refused = async (changed: string, pattern: RegExp): Promise<void> => {
    writeFileSync(path, changed);
    await fails(() => openTrace(dir), 'ERR_TRACE_INVALID', pattern);
  };
  await refused('{', /trace\.json: expected JSON/);
  await refused(text.replace('"version": 1', '"version": 2'), /trace\.json: version/);
  await refused(text.replace('spiked-trace', 'csv'), /trace\.json: format/);
  await refused(text.replace('"simulated": true', '"simulated": "no"'), /meter\.simulated/);
  await refused(text.replace('"version": 1', '"version": 1, "more": 1'), /more/);
  rmSync(path);
  await fails(() => openTrace(dir), 'ERR_FILE_NOT_FOUND', /trace\.json: expected the header of a trace/);
  writeFileSync(path, text);
  replaceSamples(dir, 'time;watts\n1;2\n');
  await fails(() => openTrace(dir), 'ERR_TRACE_INVALID', /samples\.csv:1: expected "t_ns,watts,/);
  rmSync(join(dir, 'frames.csv'));
  replaceSamples(dir, '');
  await fails(() => openTrace(dir), 'ERR_FILE_NOT_FOUND', /frames\.csv: expected this file of a trace/);
});

test('frames are held to their form, too', async () => {
  const dir = await written(some);
  for (const [line, pattern] of [
    ['1,up,00,', /frames\.csv:2: direction/],
    ['1,sent,0,', /:2: hex/],
    ['1,sent,00,bad', /:2: fault/],
    ['1,sent,00', /:2: expected 4 fields/],
    ['2,sent,00,\n1,sent,00,', /:3: expected a time not before 2/],
  ] as const) {
    writeFileSync(join(dir, 'frames.csv'), 't_ns,direction,hex,fault\n');
    appendFileSync(join(dir, 'frames.csv'), `${line}\n`);
    await fails(async () => collect((await openTrace(dir)).frames()), 'ERR_TRACE_INVALID', pattern);
  }
});

test('a sample that goes back in time ends the recording instead of spoiling it', async () => {
  const dir = fresh();
  const told: string[] = [];
  const trace = await createTrace(dir, header(), { onFailure: ({ code }) => told.push(code) });
  trace.sample(sample(2n, 1));
  await trace.sync();
  trace.sample(sample(2n, 1));
  trace.sample(sample(3n, 1));
  await fails(() => trace.close(), 'ERR_TRACE_INVALID', /expected a sample after 2, found one at 2/);
  assert.equal(told, ['ERR_TRACE_INVALID']);
  assert.is((await collect((await openTrace(dir)).samples())).length, 1);
});

test('discard leaves nothing of it', async () => {
  const dir = fresh();
  const trace = await createTrace(dir, header());
  trace.sample(sample(2n, 1));
  await trace.discard();
  for (const name of ['samples.csv', 'frames.csv', 'trace.json', 'trace.json.new'])
    assert.not.ok(existsSync(join(dir, name)), name);
});

test.run();
