import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { changedFiles } from '../../../client/ctl/energy/changed-files.js';
import { resultText } from '../../../client/ctl/energy/write-report.js';
import { analyze } from '../../../power/report/analyze.js';
import type { Result, RunResult } from '../../../power/report/result.js';
import { assert, suite, tempDir } from '../../tools/suite.js';
import { badNumbers } from '../helpers/bad-numbers.js';
import { pair, writeSynthetic } from '../helpers/experiments.js';
import type { SyntheticOptions } from '../helpers/synthetic.js';

const test = suite('analyze');
let dir = '';
let result: Result;
test.before(async () => {
  dir = await writeSynthetic(pair);
  result = await analyze(dir);
});

function wattsOf({ arms }: SyntheticOptions, { arm, block, slot }: RunResult): number {
  return arms.find(({ name }) => name === arm)?.watts(block, slot) ?? NaN;
}

function close(found: number | undefined, expected: number, relative: number, what: string): void {
  const off = Math.abs((found ?? NaN) / expected - 1);
  assert.ok(off <= relative, `${what}: expected ${expected}, found ${found}, off by ${off}`);
}

test('constant power at a known rate gives the joules per token of the closed form, in both windows', () => {
  assert.is(result.runs.length, 8);
  for (const run of result.runs) {
    const watts = wattsOf(pair, run);
    const { decode, full } = run;
    // 14.9 s from first to last token, 2 s off each end: 10.9 s, and the tokens in it by counting.
    const inside = decode.figures.tokens_in_window;
    assert.is(inside, 109);
    close(decode.figures.trimmed_s ?? 0, 10.9, 1e-9, 'trimmed');
    close(decode.figures.j_per_token?.value, (watts * 10.9) / 109, 1e-4, 'J/token');
    close(decode.figures.paper_trimmed_j_per_token?.value, (watts * 10.9) / 150, 1e-4, "the paper's");
    close(decode.figures.net_j_per_token?.value, ((watts - 3) * 10.9) / 109, 2e-4, 'net');
    // 15.51 s from request to answer.
    close(full.figures.window_s, 15.51, 1e-9, 'full window');
    close(full.figures.joules?.value, watts * 11.51, 1e-4, 'J, full');
    assert.is(run.used, true);
    assert.is(run.ids_equal, true);
  }
});

test('the verdict is that of the pairs, by hand', () => {
  const [verdict] = result.verdicts;
  const lnRatios = result.blocks.map(({ block }) => {
    const runs = result.runs.filter((run) => run.block === block);
    const ln = (arm: string) =>
      runs.filter((run) => run.arm === arm).reduce((sum, run) => sum + Math.log(wattsOf(pair, run)), 0) / 2;
    return ln('k32') - ln('f32');
  });
  const expected = Math.exp(lnRatios.reduce((sum, d) => sum + d, 0) / lnRatios.length);
  close(verdict?.verdict.ratio ?? NaN, expected, 1e-4, 'ratio');
  assert.is(verdict?.candidate, 'k32');
  assert.is(verdict?.baseline, 'f32');
  assert.is(verdict?.pairs, 4);
  assert.is(verdict?.pairs_with_equal_ids, 4);
  assert.is(verdict?.others.length, 5);
});

test('means are over the runs that count', () => {
  for (const { arm, j_per_token: mean, tokens_per_second: rate, used_runs: used } of result.arms) {
    const runs = result.runs.filter((run) => run.arm === arm);
    assert.is(used, 4);
    close(mean ?? NaN, runs.reduce((sum, run) => sum + wattsOf(pair, run) / 10, 0) / 4, 1e-4, arm);
    close(rate ?? NaN, 10, 1e-9, arm);
  }
});

test('says how it was measured', () => {
  const [part] = result.parts;
  close(part?.update_period_s, 0.1, 1e-3, 'update period');
  assert.is(part?.rule, 'backward-rectangle');
  assert.is(part?.resolution_watts, 0.001);
  assert.is(part?.accuracy, 0.005);
  assert.is(part?.meter.model, 'PZEM-004T');
  assert.is(result.boundary, 'wall AC, board and its supply');
  assert.is(result.ended, 'complete');
  assert.is(result.simulated, false);
  assert.equal(
    result.idles.map(({ after_block: after, watts }) => [after, Math.round((watts?.value ?? NaN) * 1000)]),
    [
      [0, 3000],
      [2, 3000],
    ],
  );
});

test('a copy elsewhere gives the same bytes, and no place of this machine is in them', async () => {
  const copy = join(tempDir(), 'somewhere', 'else');
  await cp(dir, copy, { recursive: true });
  const [first, second, third] = [result, await analyze(dir), await analyze(copy)].map((one) =>
    JSON.stringify(one),
  );
  assert.is(second, first);
  assert.is(third, first);
  assert.not.ok(first?.includes(dir));
});

test('the digests are those of the raw files, and a changed byte is another digest', async () => {
  const names = result.files.map(({ path }) => path);
  for (const name of ['plan.json', 'journal.jsonl', 'parts/001/trace/samples.csv', 'runs/2-3.csv'])
    assert.ok(names.includes(name), name);
  assert.not.ok(names.some((name) => /result|report|svg/.test(name)));
  const { createHash } = await import('node:crypto');
  for (const { path, sha256, bytes } of result.files) {
    const content = await readFile(join(dir, path));
    assert.is(sha256, createHash('sha256').update(content).digest('hex'), path);
    assert.is(bytes, content.length);
  }
});

test('a raw file that changed since the result was written is named', async () => {
  const copy = await writeSynthetic(pair);
  await writeFile(join(copy, 'result.json'), resultText(await analyze(copy)));
  assert.equal(await changedFiles(copy, await analyze(copy)), []);
  const samples = join(copy, 'parts/001/trace/samples.csv');
  const text = await readFile(samples, 'utf8');
  await writeFile(
    samples,
    text.replace(
      /,(\d)(\d*)\./,
      (_all, first: string, rest: string) => `,${first === '9' ? '8' : '9'}${rest}.`,
    ),
  );
  assert.equal(await changedFiles(copy, await analyze(copy)), ['parts/001/trace/samples.csv']);
});

test('every number is finite', () => {
  assert.equal(badNumbers(result), []);
  assert.equal(badNumbers({ a: [1, { b: NaN }], c: -Infinity }), ['a.1.b', 'c']);
});

test('a second start and a block that was broken off: the last attempt counts, the first is listed', async () => {
  const options: SyntheticOptions = {
    ...pair,
    blocks: 3,
    secondPartAt: 2,
    brokenOff: { block: 2, runs: 3, why: 'the daemon of k32 ended' },
  };
  const found = await analyze(await writeSynthetic(options));
  assert.equal(
    found.blocks.map(({ block, attempt, part, used, why }) => [block, attempt, part, used, why.join()]),
    [
      [1, 1, 1, true, ''],
      [2, 1, 1, false, 'the daemon of k32 ended'],
      [2, 2, 2, true, ''],
      [3, 1, 2, true, ''],
    ],
  );
  const dropped = found.runs.filter((run) => run.block === 2 && run.attempt === 1);
  assert.is(dropped.length, 3);
  assert.ok(dropped.every(({ used, decode }) => !used && decode.figures.valid));
  assert.is(found.parts.length, 2);
  const expected = found.runs
    .filter((run) => run.used && run.arm === 'k32')
    .map((run) => wattsOf(options, run) / 10);
  close(found.arms[1]?.j_per_token ?? NaN, expected.reduce((a, b) => a + b, 0) / 6, 1e-4, 'mean');
});

test('simulated once, simulated in everything', async () => {
  const found = await analyze(await writeSynthetic({ ...pair, blocks: 1, simulated: true }));
  assert.is(found.simulated, true);
  assert.is(found.parts[0]?.meter.simulated, true);
});

test.run();
