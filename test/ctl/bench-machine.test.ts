import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sharesOf } from '../../client/ctl/bench/roofline/picture.js';
import { sharesOf as timeShares } from '../../client/ctl/bench/time-shares.js';
import { roofPlot } from '../../client/ctl/bench/roofline/roof.js';
import { addon } from '../../native/host/index.js';
import { assert, root, run, suite } from '../tools/suite.js';
import { scratch } from './helpers/models.js';
import { failure, json, output, spikectl } from './helpers/spikectl.js';
import { xmlFaults } from './helpers/xml.js';

const test = suite('spikectl bench: the machine and the model');

type Line = Record<string, unknown>;

/** Runs a command with --json and parses its lines; no figure may be NaN or infinite, which JSON cannot say. */
async function lines(args: readonly string[], env: Record<string, string> = {}): Promise<Line[]> {
  const text = await output([...args, '--json'], { env });
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

const figure = (line: Line, key: string): number => {
  const value = line[key];
  assert.is(typeof value, 'number', `${key}: ${String(value)}`);
  assert.ok(Number(value) > 0, `${key}: ${String(value)}`);
  return Number(value);
};

/** Median within its range. */
function spread(line: Line, key: string): number {
  const [median, min, max] = ['', '_min', '_max'].map((end) => figure(line, `${key}${end}`));
  assert.ok(Number(min) <= Number(median) && Number(median) <= Number(max), key);
  return Number(median);
}

/** Shares of everything add up to 1. */
function sharesOfTime(line: Line): Record<string, number> {
  const shares = line['time_shares'] as Record<string, number>;
  const parts = Object.values(shares);
  assert.ok(
    parts.every((part) => part >= 0 && part <= 1),
    JSON.stringify(shares),
  );
  assert.ok(Math.abs(parts.reduce((sum, part) => sum + part, 0) - 1) < 1e-9, JSON.stringify(shares));
  for (const key of ['projections', 'column_sums', 'head', 'barriers', 'calls'])
    assert.ok(key in shares, key);
  assert.ok(Number(shares['projections']) > 0 && Number(shares['head']) > 0, JSON.stringify(shares));
  return shares;
}

const path = join(root, 'models/default.gguf');
const close = (a: number, b: number): boolean => Math.abs(a / b - 1) < 1e-9;
const hasPeak = (line: Line): boolean => line['isa'] !== 'scalar';

test('bench bandwidth: a line for every number of threads', async () => {
  const found = await lines(['bench', 'bandwidth', '--threads', '1', '--size', '16', '--rounds', '3']);
  assert.is(found.length, 1);
  const [line = {}] = found;
  assert.equal(
    ['bench', 'threads', 'rounds', 'size_bytes', 'speedup'].map((key) => line[key]),
    ['bandwidth', 1, 3, 2 ** 24, 1],
  );
  spread(line, 'read_bandwidth_gb_s');
  for (const key of ['version', 'commit', 'compiler', 'cpu', 'cores'])
    assert.ok(line[key] !== undefined, key);
  assert.match(
    await output(['bench', 'bandwidth', '--threads', '1', '--size', '16', '--rounds', '1']),
    /^threads +GB\/s +times one thread\n +1 +[\d.]+ \(/,
  );
  // Each thread needs a CPU of its own.
  assert.match(
    await failure(
      ['bench', 'bandwidth', '--threads', '256', '--size', '512', '--rounds', '1'],
      1,
      'ERR_INVALID_ARGUMENT',
    ),
    /CPUs this process may use/,
  );
});

test('bench kernels: reads and arithmetic of every kernel, each beside its limit', async () => {
  const args = ['bench', 'kernels', '--size', '4', '--rounds', '1', '--threads', '1'];
  const found = await lines(args);
  assert.equal(
    found.map((line) => line['kernel']),
    addon().measuredKernels(),
  );
  const middle = (line: Line, key: string) => figure(line[key] as Line, 'median');
  for (const line of found) {
    const name = String(line['kernel']);
    assert.ok(figure(line, 'bytes') <= 4 * 2 ** 20, name);
    assert.ok(close(middle(line, 'share'), middle(line, 'gb_per_s') / middle(line, 'read_gb_per_s')), name);
    if (!name.startsWith('matmul')) {
      assert.equal([line['batch_tokens'], line['gmac_per_s'], line['peak_share']], [null, null, null], name);
      continue;
    }
    assert.is(line['batch_tokens'], 32);
    middle(line, 'gmac_per_s');
    if (!hasPeak(line)) continue;
    const peak = middle(line, 'peak_gmac_per_s');
    assert.ok(close(middle(line, 'peak_share'), middle(line, 'gmac_per_s') / peak), name);
    assert.ok(String(line['peak_instructions']).length > 3, name);
  }
  const scalar = await lines([...args, '--isa', 'scalar', '--only', 'matmul_i8_i8']);
  assert.equal(
    scalar.map((line) => [line['isa'], line['peak_gmac_per_s'], line['peak_instructions']]),
    [['scalar', null, null]],
  );
  assert.match(await output([...args, '--only', 'column_sum_i8']), /^kernel .*\ncolumn_sum_i8 +[\d.]+ /);
  await failure(['bench', 'kernels', '--only', 'matmul'], 2, 'ERR_USAGE');
  await failure(['bench', 'kernels', '--isa', 'abacus'], 1, 'ERR_ISA_UNSUPPORTED');
});

test("bench decode: bytes by class add up, and the dense ones are the engine's own count", async () => {
  const line = await json(['bench', 'decode', path, '--tokens', '4', '--rounds', '1', '--threads', '1']);
  const classes = line['bytes_by_class'] as Record<string, number>;
  assert.equal(Object.keys(classes), ['dense', 'columns', 'head', 'embedding', 'kv']);
  const sum = Object.values(classes).reduce((total, bytes) => total + bytes, 0);
  assert.ok(close(sum, figure(line, 'bytes_per_token')));
  const engine = addon().openEngine({ threads: 1 });
  const { info } = await engine.openModel(path);
  sharesOfTime(line);
  assert.is(classes['dense'], info.denseBytes);
  assert.is(classes['embedding'], info.embedDim * 4);
  assert.ok(figure(classes, 'columns') < info.columnBytes * info.nLayers * (info.embedDim + info.ffnDim));
  assert.ok(figure(classes, 'head') > info.vocabSize * info.embedDim);
  // A prompt of 8, then 4 tokens: each sees its own position, and at most all before it.
  const keyBytes = info.nLayers * 2 * info.embedDim * 4;
  assert.ok(figure(classes, 'kv') >= keyBytes && figure(classes, 'kv') <= 12 * keyBytes);
  engine.close();
});

test('bench prefill: peak, shares and ratio are made of the other figures', async () => {
  const args = ['bench', 'prefill', path, '--tokens', '70', '--rounds', '1', '--threads', '1'];
  const [line = {}] = await lines([...args, '--decode-tokens', '4', '--activations', 'i8']);
  const rate = spread(line, 'tokens_per_s');
  assert.ok(close(rate, (70 * 1000) / spread(line, 'time_to_first_token_ms')));
  const gmacs = (rate * figure(line, 'dense_macs_per_token')) / 1e9;
  assert.ok(close(spread(line, 'gmac_per_s'), gmacs));
  if (hasPeak(line)) assert.ok(close(spread(line, 'peak_share'), gmacs / spread(line, 'peak_gmac_per_s')));
  assert.ok(close(spread(line, 'decode_ratio'), rate / spread(line, 'decode_tokens_per_s')));
  sharesOfTime(line);
  // Whole passes over the weights, fewer than tokens.
  assert.ok(Number.isInteger(line['passes']) && figure(line, 'passes') < 70, String(line['passes']));
  assert.equal([line['prompt_tokens'], line['activations'], line['weights']], [70, 'i8', 'int8']);
  const [scalar = {}] = await lines([...args, '--decode-tokens', '2'], { SPIKED_FORCE_ISA: 'scalar' });
  assert.equal([scalar['isa'], scalar['peak_gmac_per_s'], scalar['peak_share']], ['scalar', null, null]);
  assert.match(await output([...args, '--decode-tokens', '2']), /times as fast/);
  await failure(['bench', 'prefill', path, '--tokens', '0'], 2, 'ERR_USAGE');
  await failure(['bench', 'prefill', '/nonexistent.gguf'], 1, 'ERR_FILE_NOT_FOUND');
});

test('bench threads and roofline: a line a number of threads, and a picture', async () => {
  const sweep = [path, '--threads', '1', '--rounds', '1', '--tokens', '4', '--prompt-tokens', '40'];
  const [line = {}, ...more] = await lines(['bench', 'threads', ...sweep]);
  assert.is(more.length, 0);
  const share = (spread(line, 'decode_tokens_per_s') * figure(line, 'bytes_per_token')) / 1e9;
  assert.ok(close(figure(line, 'decode_share'), share / spread(line, 'read_bandwidth_gb_s')));
  assert.equal([line['threads'], line['decode_speedup'], line['prefill_speedup']], [1, 1, 1]);
  const gmacs = (spread(line, 'prefill_tokens_per_s') * figure(line, 'dense_macs_per_token')) / 1e9;
  if (hasPeak(line))
    assert.ok(close(figure(line, 'prefill_peak_share'), gmacs / spread(line, 'peak_gmac_per_s')));

  const file = scratch('roofline.svg');
  const [first = {}, last = {}] = await lines(['bench', 'roofline', ...sweep, '-o', file]);
  assert.equal([first['bench'], last['bench'], last['output']], ['threads', 'roofline', file]);
  const points = last['points'] as Line[];
  assert.equal(
    points.map(({ kind, threads }) => [kind, threads]),
    [
      ['decode', 1],
      ['prefill', 1],
    ],
  );
  const [decode = {}, prefill = {}] = points;
  // A weight that is read once for many tokens allows more multiply-adds a byte.
  assert.ok(figure(prefill, 'macs_per_byte') > 2 * figure(decode, 'macs_per_byte'));
  const times = last['time_shares'] as Record<string, Line>;
  for (const kind of ['decode', 'prefill']) sharesOfTime({ time_shares: times[kind] });
  const svg = readFileSync(file, 'utf8');
  assert.equal(xmlFaults(svg), []);
  assert.is(svg.match(/class="mark"/g)?.length, points.length + 2, 'a mark a point and two in the legend');
  assert.is(svg.match(/class="roof"/g)?.length, 1);
  for (const name of ['column sums', 'projections', 'embedding', 'decode, '])
    assert.ok(svg.includes(name), name);
  assert.not.ok(/NaN|Infinity|undefined/.test(svg));
  const nowhere = await spikectl(['bench', 'roofline', ...sweep, '-o', '/nonexistent/r.svg']);
  assert.is(nowhere.code, 1);
  assert.match(nowhere.stderr, /^spikectl: ERR_FILE_NOT_FOUND: \/nonexistent.*\n$/);
});

test('a roof is flat above its ridge, and without a peak it has no flat part', () => {
  const box = { left: 0, top: 0, width: 300, height: 200 };
  const gmacPerS = { median: 5, min: 4, max: 6 };
  const points = [{ kind: 'decode', threads: 1, macsPerByte: 1, gmacPerS }] as const;
  const corners = (peakGmacPerS: number | null): number[][] => {
    const svg = roofPlot(box, [{ threads: 1, gbPerS: 10, peakGmacPerS }], points);
    const d = /class="roof" d="M([^"]+)"/.exec(svg)?.[1] ?? '';
    return d.split('L').map((corner) => corner.split(',').map(Number));
  };
  const [left = [], ridge = [], right = []] = corners(20);
  assert.ok(Number(left[1]) > Number(ridge[1]));
  assert.is(ridge[1], right[1]);
  // 10 GB/s reach 20 GMAC/s at 2 multiply-adds a byte; the axis goes from 0.1 to 10.
  assert.ok(Math.abs(Number(ridge[0]) - (300 * Math.log10(2 / 0.1)) / 2) < 0.01, String(ridge[0]));
  const [, , end = []] = corners(null);
  assert.ok(Number(end[1]) < Number(left[1]));
});

test('numbers beside points in one place do not lie over one another', () => {
  const box = { left: 0, top: 0, width: 300, height: 200 };
  const points = [5, 5.1, 5.2, 80].map((median, i) => ({
    kind: 'decode' as const,
    threads: i + 1,
    macsPerByte: 1,
    gmacPerS: { median, min: median, max: median },
  }));
  const svg = roofPlot(box, [{ threads: 1, gbPerS: 100, peakGmacPerS: 100 }], points);
  const at = [...svg.matchAll(/<text x="[\d.]+" y="([\d.]+)"[^>]*class="value">(\d)</g)]
    .map(([, y, threads]) => ({ y: Number(y), threads: Number(threads) }))
    .sort((a, b) => a.y - b.y);
  assert.equal(
    at.map(({ threads }) => threads),
    [4, 3, 2, 1],
  );
  at.slice(1).forEach(({ y }, i) => assert.ok(y - Number(at[i]?.y) >= 13, String(y)));
});

test('parts are shares of their row, the largest first, the smallest together', () => {
  const parts = Object.fromEntries(Array.from({ length: 14 }, (_, i) => [`part ${i}`, i + 1]));
  const { keys, shares } = sharesOf([
    { label: 'a', parts },
    { label: 'b', parts: { 'part 3': 2 } },
  ]);
  assert.equal([keys.length, keys[0], keys.at(-1)], [11, 'part 3', 'the rest']);
  for (const { share } of shares)
    assert.ok(Math.abs(Object.values(share).reduce((sum, part) => sum + part, 0) - 1) < 1e-12);
  assert.equal(sharesOf([{ label: 'none', parts: { x: 0 } }]).shares, [{ label: 'none', share: { x: 0 } }]);
});

test('time that no operation had is between calls', () => {
  assert.equal(timeShares({ a: 30, b: 20 }, 100), { a: 0.3, b: 0.2, calls: 0.5 });
  assert.equal(timeShares({ a: 30, b: 30 }, 50), { a: 0.5, b: 0.5, calls: 0 });
  assert.equal(timeShares({}, 0), {});
});

test('bench/rivals: ratios against any command, and what is missing', async () => {
  const rivals = (...args: string[]) =>
    run(process.execPath, [join(root, 'dist/bench/rivals.js'), path, ...args], {
      timeoutMs: 120_000,
    });
  const quick = ['--rounds', '1', '--tokens', '4', '--prompt-tokens', '16', '--threads', '1', '--json'];
  const found = await rivals(
    ...quick,
    '--rival',
    'other=echo threads {threads}: 2.5',
    '--rival',
    'other:prefill=echo 1e1',
  );
  assert.is(found.code, 0, found.stderr);
  const rows = found.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  assert.equal(
    rows.map((row) => [row['kind'], row['rival'], (row['rival_tokens_per_s'] as Line)['median']]),
    [
      ['decode', 'other', 2.5],
      ['prefill', 'other', 10],
    ],
  );
  for (const row of rows) {
    const ours = figure(row['ours_tokens_per_s'] as Line, 'median');
    const theirs = figure(row['rival_tokens_per_s'] as Line, 'median');
    assert.ok(close(figure(row['ratio'] as Line, 'median'), ours / theirs));
    assert.is(row['rival_share'], null, 'its bytes are unknown');
  }
  const none = await rivals('--rounds', '1');
  assert.equal([none.code, none.stderr.startsWith('ERR_USAGE: ')], [2, true]);
  const silent = await rivals(...quick, '--rival', 'mute=true');
  assert.is(silent.code, 1);
  assert.match(silent.stderr, /mute: expected tokens a second/);
  const broken = await rivals(...quick, '--rival', 'broken=exit 7');
  assert.match(broken.stderr, /expected exit status 0, found 7/);
});

test.run();
