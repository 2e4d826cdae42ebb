import { analyze } from '../../../power/report/analyze.js';
import { reportMarkdown } from '../../../power/report/markdown.js';
import type { Result } from '../../../power/report/result.js';
import { assert, suite } from '../../tools/suite.js';
import { badNumbers } from '../helpers/bad-numbers.js';
import { pair, sampleLine, writeSynthetic } from '../helpers/experiments.js';
import type { SyntheticOptions } from '../helpers/synthetic.js';

/** The failure cases of the method that show in an experiment's result as a whole. */
const test = suite('analyze: failure cases');

const pictures = { paired: null, runs: null, trace: null };

async function analyzed(options: SyntheticOptions): Promise<Result> {
  const result = await analyze(await writeSynthetic(options));
  assert.equal(badNumbers(result), []);
  assert.not.match(reportMarkdown(result, pictures), /NaN|Infinity|undefined|null/);
  return result;
}

function arms(baseline: number, candidate: number): SyntheticOptions['arms'] {
  return [
    { name: 'f32', watts: () => baseline, tokensPerSecond: 10 },
    { name: 'k32', watts: () => candidate, tokensPerSecond: 10 },
  ];
}

test('15: a meter of whole watts and arms in the same bin: below resolution, with the size of a step', async () => {
  const { verdicts, runs } = await analyzed({ ...pair, blocks: 6, stepWatts: 1, arms: arms(10.3, 9.8) });
  const verdict = verdicts[0]?.verdict;
  assert.is(verdict?.verdict, 'below resolution');
  assert.is(verdict?.ratio, 1);
  assert.ok((verdict?.interval?.high ?? 1) - (verdict?.interval?.low ?? 1) > 0.05);
  assert.match(verdict?.text ?? '', /resolution/);
  assert.ok(runs.every((run) => run.decode.figures.resolution_limited));
});

test('16: no spread over the blocks: the interval comes from the resolution and has a width', async () => {
  const { verdicts } = await analyzed({ ...pair, blocks: 6, stepWatts: 0.1, arms: arms(10, 9) });
  const verdict = verdicts[0]?.verdict;
  assert.ok((verdict?.sd_ln_ratio ?? 1) < 1e-9);
  assert.is(verdict?.verdict, 'lower');
  const { low = 0, high = 0 } = verdict?.interval ?? {};
  // Two arms, each with q / sqrt(12) of some 9.5 W.
  const least = 1.96 * Math.SQRT2 * (0.1 / Math.sqrt(12) / 9.5) * 0.9;
  assert.ok((high - low) / 2 > 0.9 * least, `${low} to ${high}`);
});

test('17: fewer tokens than the others: the run has no figure, and its block does not count', async () => {
  const { runs, blocks, verdicts } = await analyzed({
    ...pair,
    blocks: 3,
    tokensOf: (block, slot) => (block === 2 && slot === 1 ? 120 : 150),
  });
  const short = runs.find((run) => run.block === 2 && run.slot === 1);
  assert.is(short?.tokens, 120);
  assert.is(short?.decode.figures.valid, false);
  assert.ok(short?.decode.figures.reasons.some(({ reason }) => reason === 'unequal-tokens'));
  assert.is(short?.decode.figures.j_per_token, null);
  assert.is(short?.full.figures.joules, null);
  assert.equal(
    blocks.map(({ used }) => used),
    [true, false, true],
  );
  assert.match(blocks[1]?.why.join(' ') ?? '', /unequal-tokens/);
  assert.is(verdicts[0]?.verdict.blocks.length, 2);
});

test('a gap leaves no energy, not that of the rest', async () => {
  const { runs } = await analyzed({
    ...pair,
    sample: (t, watts) => (t > 1033 && t < 1035 ? undefined : sampleLine(t, watts)),
  });
  const hit = runs.filter((run) => !run.decode.figures.valid);
  assert.is(hit.length, 1);
  for (const { figures } of [hit[0]?.decode, hit[0]?.full].filter((one) => one !== undefined)) {
    const { joules, net_joules: net, mean_watts: watts, j_per_token: each, net_j_per_token: netEach, paper_trimmed_j_per_token: paper, reasons } = figures; // prettier-ignore
    assert.equal([joules, net, watts, each, netEach, paper], [null, null, null, null, null, null]);
    assert.ok(reasons.some(({ reason }) => reason === 'gap'));
  }
});

test('what the run itself says was wrong leaves no energy either, and the report says it', async () => {
  const result = await analyzed({
    ...pair,
    blocks: 2,
    run: (run) =>
      run.block === 1 && run.slot === 2
        ? { ...run, reasons: [{ reason: 'throttled', text: 'the clocks fell to 1.2 GHz' }] }
        : run,
  });
  const hit = result.runs.find((run) => run.block === 1 && run.slot === 2);
  assert.is(hit?.decode.figures.j_per_token, null);
  assert.is(hit?.full.figures.joules, null);
  const text = reportMarkdown(result, pictures);
  assert.match(text, /Run 1-2 \(\w+\): `throttled` The clocks fell to 1\.2 GHz\./);
});

test('no run at all: no figure, and no failure', async () => {
  const { verdicts, arms: means } = await analyzed({ ...pair, sample: () => undefined });
  assert.is(verdicts[0]?.verdict.ratio, null);
  assert.ok(means.every((arm) => arm.j_per_token === null && arm.used_runs === 0));
});

test('other ids than the baseline are told in the result and at the top of the report', async () => {
  const [baseline, candidate] = pair.arms;
  if (baseline === undefined || candidate === undefined) throw new Error('two arms');
  const result = await analyzed({ ...pair, arms: [baseline, { ...candidate, ids: 'others' }] });
  assert.is(result.verdicts[0]?.pairs_with_equal_ids, 0);
  assert.ok(result.runs.every((run) => run.ids_equal === false));
  assert.match(
    reportMarkdown(result, pictures).split('## Arms')[0] ?? '',
    /k32 gave other tokens than f32 in 4 of 4 pairs/,
  );
});

test('a clock that was set and a suspend are noted', async () => {
  const result = await analyzed({ ...pair, blocks: 1, wallJumpS: 3600 });
  assert.ok(
    result.notes.some((note) => note.includes('wall clock was set forward by 3600')),
    result.notes.join('\n'),
  );
});

test.run();
