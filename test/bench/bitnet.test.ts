import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addon } from '../../native/host/index.js';
import { row, markdown, type Turn } from '../../bench/bitnet/report.js';
import { rivalRates } from '../../bench/bitnet/rival.js';
import { watched } from '../../bench/bitnet/turn.js';
import { output } from '../ctl/helpers/spikectl.js';
import { scratch } from '../ctl/helpers/models.js';
import { assert, root, run, suite } from '../tools/suite.js';

const test = suite('bench bitnet');
const length = { threads: 1, promptTokens: 8, tokens: 4, context: 64 };
const megabyte = 1e6;

const turn = (factor: number): Turn => ({
  decode: 10 * factor,
  prefill: 40 * factor,
  bytesPerToken: 1e9,
  readGbPerS: 20,
  steadyBytes: 1200 * megabyte * factor,
  steadyAnonBytes: 100 * megabyte,
  peakBytes: 1300 * megabyte * factor,
});

async function failure(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (thrown) {
    return `${(thrown as { code?: string }).code ?? ''} ${(thrown as Error).message}`;
  }
  return 'no error';
}

test('ratios are taken round by round, shares from the bandwidth of the same turn', () => {
  const rival = { name: 'rival', threads: 2, turns: [turn(1), turn(2), turn(4)] };
  const found = row({ name: 'ours', threads: 2, turns: [turn(3), turn(2), turn(2)] }, rival);
  assert.equal(found.ratios?.decode_tokens_per_s, { median: 1, min: 0.5, max: 3 });
  assert.equal(found.ratios?.steady_rss_bytes, { median: 1, min: 0.5, max: 3 });
  assert.equal(found.figures.read_bandwidth_share, { median: 1, min: 1, max: 1.5 });
  assert.is(row(rival, null).ratios, null);
});

test('one table, every line as wide as its head', () => {
  const rival = { name: 'rival', threads: 1, turns: [turn(1)] };
  const ours = { name: 'ours', threads: 1, turns: [turn(2)] };
  const lines = markdown([row(rival, null), row(ours, rival)]).split('\n');
  assert.is(lines.length, 4);
  for (const line of lines) assert.is(line.split('|').length, 13, line);
  assert.is(lines[3], '| 1 | ours | 20.00 | 2.00 | 80.0 | 2.00 | 2400 | 2.00 | 2600 | 2.00 | 1.00 |');
});

test("the rival's figures, and nothing else that looks like them", async () => {
  const line = '{"n_threads": 1, "pp": 8, "tg": 4, "speed_pp": 30.5, "speed_tg": 12.25}';
  assert.equal(rivalRates(`\nloading\n${line}\n\n`, length), { prefill: 30.5, decode: 12.25 });
  const wrong = ['', `${line}\n${line}`, line.replace('"tg": 4', '"tg": 5'), line.replace('12.25', '0')];
  for (const text of wrong)
    assert.match(await failure(() => rivalRates(text, length)), /^ERR_TOOL_FAILED .*pp 8, tg 4/);
});

test('memory of a process that holds 200 MB after it held 300 MB', async () => {
  const script = `
    const rest = (ms) => new Promise((done) => setTimeout(done, ms));
    let big = Buffer.alloc(300e6, 1); await rest(200); big = null; gc();
    const kept = Buffer.alloc(200e6, 1); await rest(1000 + 3 * performance.now()); console.log(kept.length);`;
  const args = ['--expose-gc', '--input-type=module', '-e', script];
  const found = await watched(process.execPath, args);
  assert.is(found.output, '200000000\n');
  const { steadyBytes, steadyAnonBytes, peakBytes } = found.memory;
  assert.ok(steadyBytes > 200 * megabyte && steadyBytes < 300 * megabyte, String(steadyBytes));
  assert.ok(steadyAnonBytes > 200 * megabyte && steadyAnonBytes < steadyBytes, String(steadyAnonBytes));
  assert.ok(peakBytes > 300 * megabyte, String(peakBytes));
});

test('a program that fails or is missing is named', async () => {
  const args = ['-e', 'console.error("no such model"); process.exit(3)'];
  const failed = await failure(() => watched(process.execPath, args));
  assert.match(failed, /^ERR_TOOL_FAILED .*status 0, found 3: no such model/);
  assert.match(await failure(() => watched('/nonexistent/bench', [])), /^ERR_TOOL_MISSING .*ENOENT/);
});

/** Says back the lengths it is given, in the one line that llama-batched-bench prints. */
const standIn = `#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in -npp) pp=$2 ;; -ntg) tg=$2 ;; esac
  shift
done
sleep 0.3
echo "{\\"pp\\": $pp, \\"tg\\": $tg, \\"speed_pp\\": 40.0, \\"speed_tg\\": 12.5}"
`;

// bitnet.cpp cannot be part of a test: a script takes its turns. Ours are real.
test('turns of both, and their ratios as JSON', async () => {
  const model = scratch('ternary.gguf');
  await output(['synth', '--config', 'bitnet-tiny', '-o', model]);
  const rival = scratch('rival.sh');
  writeFileSync(rival, standIn, { mode: 0o755 });
  const args = [
    join(root, 'dist/bench/bitnet.js'),
    model,
    '--rival',
    rival,
    '--ours',
    'full,full-kv16',
    '--json',
  ];
  const size = [
    '--threads',
    '1',
    '--prompt-tokens',
    '8',
    '--tokens',
    '4',
    '--context',
    '64',
    '--rounds',
    '1',
    '--size',
    '16',
  ];
  const found = await run(process.execPath, [...args, ...size], { timeoutMs: 120_000 });
  assert.is(found.code, 0, found.stderr);
  const { rows } = JSON.parse(found.stdout) as { rows: ReturnType<typeof row>[] };
  const names = rows.map(({ name }) => name);
  assert.equal(names, ['bitnet.cpp', 'spiked full', 'spiked full-kv16']);
  const best = addon()
    .isas()
    .find(({ supported }) => supported)?.name;
  assert.equal(
    rows.map(({ isa }) => isa),
    [null, best, best],
  );
  assert.is(rows[0]?.figures.decode_tokens_per_s.median, 12.5);
  const decode = rows[1]?.figures.decode_tokens_per_s.median ?? NaN;
  assert.is(rows[1]?.ratios?.decode_tokens_per_s.median, decode / 12.5);
  const bytes = rows.map(({ bytes_per_token }) => bytes_per_token);
  assert.ok(Math.abs((bytes[1] ?? 0) / (bytes[0] ?? 0) - 1) < 0.01, String(bytes));
});

test.run();
