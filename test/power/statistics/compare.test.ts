import { gaussian, seededRandom } from '../../../power/simulator/random.js';
import { compareArms } from '../../../power/statistics/compare.js';
import type { ComparedBlock, ComparedRun, Comparison } from '../../../power/statistics/verdict.js';
import type { MeterTraits } from '../../../power/meters/meter.js';
import type { IdlePower } from '../../../power/window/figures.js';
import { assert, suite } from '../../tools/suite.js';
import { every, figuresOf, reading, tokensAt, traitsOf } from '../helpers/windows.js';

const test = suite('comparison of two arms');
const integerWatts = traitsOf({ resolutionWatts: 1 });
const tenths = traitsOf();

interface Load {
  /** True mean power, W; the meter rounds to its step. */
  readonly watts: number;
  /** Noise of one second. */
  readonly noise?: number;
  readonly tokens?: number;
}

function runOf(
  arm: ComparedRun['arm'],
  load: Load,
  traits: MeterTraits,
  seed: number,
  idle: IdlePower | null,
): ComparedRun {
  const random = seededRandom(seed);
  const step = traits.resolutionWatts;
  const shown = () => step * Math.round((load.watts + (load.noise ?? 0) * gaussian(random)) / step);
  const samples = every(1, -5, 66).map((t) => reading(t, shown()));
  const tokenNs = tokensAt(5, 0, 60).slice(0, load.tokens ?? Infinity);
  return { arm, figures: figuresOf(samples, { traits, tokenNs, idle }), reasons: [] };
}

/** Blocks of ABBA and BAAB in turn. */
function blocksOf(
  count: number,
  baseline: Load,
  candidate: Load,
  traits: MeterTraits,
  idle: IdlePower | null = null,
): ComparedBlock[] {
  return Array.from({ length: count }, (_, b) => ({
    block: b + 1,
    runs: (b % 2 === 0 ? 'ABBA' : 'BAAB')
      .split('')
      .map((letter, slot) =>
        letter === 'A'
          ? runOf('baseline', baseline, traits, 1000 * b + 7 * slot + 1, idle)
          : runOf('candidate', candidate, traits, 1000 * b + 7 * slot + 1, idle),
      ),
  }));
}

/** Nothing in it is infinite or no number. */
function allFinite(value: unknown): void {
  if (typeof value === 'number') assert.ok(Number.isFinite(value));
  else if (typeof value === 'object' && value !== null) Object.values(value).forEach(allFinite);
}

function compared(blocks: readonly ComparedBlock[], figure?: Comparison['figure']): Comparison {
  const comparison = compareArms(blocks, figure);
  allFinite(comparison);
  return comparison;
}

test('a candidate that uses 5 % less is lower, with an interval around the true ratio', () => {
  const c = compared(blocksOf(6, { watts: 20, noise: 0.3 }, { watts: 19, noise: 0.3 }, tenths));
  assert.is(c.verdict, 'lower');
  assert.is(c.blocks.length, 6);
  assert.ok(c.interval !== null && c.interval.low < 0.95 && c.interval.high > 0.95 && c.interval.high < 1);
  assert.equal(c.sign_flip, { p: 2 / 64, smallest: 2 / 64 });
  assert.match(
    c.text,
    /^The candidate uses less energy per token: -5\.\d+ % \(95 % interval -\d.* to -\d.*, 6 blocks; sign-flip p 0\.031/,
  );
});

test('the same the other way round is higher', () => {
  const c = compared(blocksOf(6, { watts: 19, noise: 0.3 }, { watts: 20, noise: 0.3 }, tenths));
  assert.is(c.verdict, 'higher');
  assert.ok(c.interval !== null && c.interval.low > 1);
});

test('equal arms under noise: no difference shown, with what would have been', () => {
  const c = compared(blocksOf(6, { watts: 20, noise: 3 }, { watts: 20.02, noise: 3 }, tenths));
  assert.is(c.verdict, 'no difference shown');
  assert.ok(c.interval !== null && c.interval.low < 1 && c.interval.high > 1);
  assert.match(c.text, /A difference of \d.* % would have shown in 80 of 100 such experiments\.$/);
});

test('d of a block is the mean over its pairs of ln ratio, baseline and candidate in either order', () => {
  const c = compared(blocksOf(2, { watts: 20 }, { watts: 18 }, tenths));
  for (const block of c.blocks) {
    assert.is(block.pairs.length, 2);
    for (const pair of block.pairs) assert.ok(Math.abs(pair.ratio - 0.9) < 1e-12);
    assert.ok(Math.abs(block.ln_ratio - Math.log(0.9)) < 1e-12);
  }
});

test('the figure is chosen; net of idle is negative when the load is idle, and then has no ratio', () => {
  const idle = { watts: 19, uWatts: 0.1, uResolutionWatts: 0.06, uRepeatabilityWatts: 0.08, drifted: false };
  const blocks = blocksOf(3, { watts: 20 }, { watts: 18.5 }, tenths, idle);
  assert.is(compared(blocks, 'paper_trimmed_j_per_token').verdict, 'lower');
  const net = compared(blocks, 'net_j_per_token');
  assert.is(net.verdict, 'not enough valid blocks');
  assert.is(net.excluded.length, 3);
  assert.is(net.excluded[0]?.reasons[0]?.reason, 'not-positive');
});

test('case 15: whole watts and both arms in one step: below resolution, not 0.0 %, p = 1', () => {
  const c = compared(blocksOf(6, { watts: 10.4 }, { watts: 9.7 }, integerWatts));
  assert.is(c.verdict, 'below resolution');
  assert.is(c.ratio, 1);
  assert.ok(
    c.interval !== null && c.interval.low < 0.93 && c.interval.high > 1.07,
    'the true ratio 0.93 is inside',
  );
  assert.match(
    c.text,
    /below the meter's resolution: .*one step of the meter is 10 % of the reading.*more blocks do not help/,
  );
});

test('case 15: whole watts and a difference of one step: its sign is true, and the interval is about a step to each side', () => {
  const c = compared(blocksOf(6, { watts: 10.49 }, { watts: 10.51 }, integerWatts));
  assert.ok(Math.abs((c.ratio ?? 0) - 1.1) < 1e-12, 'the meter shows 10 %');
  assert.ok(c.interval !== null && c.interval.low < 1.02 && c.interval.high > 1.18);
  assert.is(c.verdict, 'higher');
});

test('case 16: no spread over blocks: the interval is that of the step, never of no width', () => {
  const c = compared(blocksOf(6, { watts: 20 }, { watts: 18 }, tenths));
  assert.ok((c.sd_ln_ratio ?? 1) < 1e-12);
  const rounding = 0.1 / Math.sqrt(12);
  const u = Math.hypot(rounding / 20, rounding / 18);
  assert.ok(Math.abs((c.u_resolution ?? 0) / u - 1) < 1e-9);
  const half = Math.log(c.interval?.high ?? 0) - Math.log(c.ratio ?? 0);
  assert.ok(Math.abs(half / (1.959964 * u) - 1) < 1e-4, `half ${half}`);
  assert.is(c.verdict, 'lower');
});

test('case 16: the step does not shrink with the number of blocks', () => {
  const few = compared(blocksOf(2, { watts: 20 }, { watts: 18 }, integerWatts));
  const many = compared(blocksOf(12, { watts: 20 }, { watts: 18 }, integerWatts));
  assert.is(few.u_resolution, many.u_resolution);
  assert.ok(Math.abs((few.interval?.high ?? 0) - (many.interval?.high ?? 1)) < 1e-9);
});

test('case 16: a meter of no known step and no spread has no interval at all', () => {
  const exact = blocksOf(3, { watts: 20 }, { watts: 20 }, tenths).map((block) => ({
    ...block,
    runs: block.runs.map((run) => ({ ...run, figures: stepless(run) })),
  }));
  const c = compared(exact);
  assert.equal([c.verdict, c.interval, c.u_combined], ['no difference shown', null, 0]);
});

function stepless({ figures }: ComparedRun): ComparedRun['figures'] {
  const value = figures?.j_per_token ?? null;
  if (figures === null || value === null) throw new Error('expected a valid run');
  return { ...figures, j_per_token: { ...value, u: { ...value.u, resolution: 0 } } };
}

test('case 17: runs of unequal token counts are not compared', () => {
  const blocks = blocksOf(3, { watts: 20 }, { watts: 18 }, tenths);
  const early = blocksOf(1, { watts: 20 }, { watts: 18, tokens: 250 }, tenths);
  const c = compared([...blocks.slice(1), ...early]);
  assert.is(c.blocks.length, 2);
  assert.equal(
    c.excluded.map(({ reasons }) => reasons),
    [[{ reason: 'unequal-tokens', text: 'the runs have 301, 250 tokens, the same count is needed' }]],
  );
});

test('a block counts whole or not at all, and every excluded one is listed with its rule', () => {
  const [good, throttled, crashed, half] = blocksOf(4, { watts: 20 }, { watts: 18 }, tenths);
  assert.ok(good && throttled && crashed && half);
  const hot = throttled.runs.map((run, i) =>
    i === 2
      ? { ...run, reasons: [{ reason: 'throttled' as const, text: 'the clock fell to 1200 MHz' }] }
      : run,
  );
  const c = compared([
    good,
    { ...throttled, runs: hot },
    { ...crashed, unfinished: 'the daemon ended in slot 2' },
    { ...half, runs: half.runs.slice(0, 3) },
  ]);
  assert.is(c.verdict, 'not enough valid blocks');
  assert.equal(
    c.excluded.map((e) => [e.block, e.reasons[0]?.reason]),
    [
      [2, 'throttled'],
      [3, 'incomplete'],
      [4, 'incomplete'],
    ],
  );
  assert.is(c.excluded[0]?.reasons[0]?.text, 'run 3 (baseline): the clock fell to 1200 MHz');
  const gap = { arm: 'candidate' as const, figures: figuresOf([]), reasons: [] };
  const holed = compared([{ ...good, runs: [...good.runs.slice(0, 3), gap] }]);
  assert.is(holed.excluded.length, 1);
});

test("one block, the paper's plan: its pairs are printed and no interval is claimed", () => {
  const c = compared(blocksOf(1, { watts: 10 }, { watts: 10.6 }, integerWatts));
  assert.is(c.verdict, 'not enough valid blocks');
  assert.equal([c.interval, c.sd_ln_ratio, c.sign_flip, c.minimum_detectable], [null, null, null, null]);
  assert.is(c.blocks[0]?.pairs.length, 2);
  assert.match(
    c.text,
    /1 of 1 block valid, 2 are needed; no interval is claimed\. The pairs differ by \+10\.0 %, \+10\.0 %; one step of the meter is 9\.6 %/,
  );
});

test('no block at all', () => {
  const c = compared([]);
  assert.is(c.text, 'Not enough valid blocks: 0 of 0 blocks valid, 2 are needed.');
  assert.equal([c.ratio, c.interval], [null, null]);
});

test.run();
