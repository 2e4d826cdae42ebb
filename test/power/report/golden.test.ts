/**
 * The figures of one folder, held to a file that an independent program computed (recompute.py), and that file to the program where
 * Python is there. After a change of the folder: `python3 test/power/report/recompute.py DIR > test/power/report/golden-figures.json`.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { analyze } from '../../../power/report/analyze.js';
import type { RunResult, WindowName } from '../../../power/report/result.js';
import { assert, missing, root, run, suite } from '../../tools/suite.js';
import { noise, pair, sampleLine, writeSynthetic } from '../helpers/experiments.js';

const test = suite('analyze: golden figures');
const folder = join(root, 'test/power/report');

let dir = '';
test.before(async () => {
  // Noise that reaches over the meter's step, drifting a little, so that every part of the uncertainties counts.
  dir = await writeSynthetic({
    ...pair,
    blocks: 3,
    tokens: 120,
    stepWatts: 0.1,
    sample: (t, watts) => sampleLine(t, Math.round((watts + noise(t, 0.2)) * 10) / 10),
  });
});

type Figures = Record<string, unknown>;

function figuresOf(run: RunResult, window: WindowName): Figures {
  const { figures } = run[window];
  const { value: watts, u } = figures.mean_watts ?? { value: NaN, u: { resolution: NaN } };
  return {
    tokens_in_window: figures.tokens_in_window,
    joules: figures.joules?.value,
    j_per_token: figures.j_per_token?.value,
    u_j_per_token: figures.j_per_token?.u.total,
    net_j_per_token: figures.net_j_per_token?.value,
    u_net_j_per_token: figures.net_j_per_token?.u.total,
    paper_trimmed_j_per_token: figures.paper_trimmed_j_per_token?.value,
    tokens_per_second: figures.tokens_per_second,
    relative_resolution: u.resolution / watts,
  };
}

async function ownFigures(): Promise<Figures> {
  const { runs, verdicts, idles } = await analyze(dir);
  const verdict = verdicts[0]?.verdict;
  return {
    idle_watts: idles.reduce((sum, { watts }) => sum + (watts?.value ?? NaN), 0) / idles.length,
    runs: runs.map((one) => ({
      block: one.block,
      slot: one.slot,
      arm: one.arm,
      decode: figuresOf(one, 'decode'),
      full: figuresOf(one, 'full'),
    })),
    verdict: {
      ratio: verdict?.ratio,
      low: verdict?.interval?.low,
      high: verdict?.interval?.high,
      sd_ln_ratio: verdict?.sd_ln_ratio,
      u_resolution: verdict?.u_resolution,
      p: verdict?.sign_flip?.p,
    },
  };
}

/** Where two values differ by more than a rounding, by their keys. */
function differences(found: unknown, expected: unknown, at = ''): string[] {
  if (typeof found === 'number' && typeof expected === 'number')
    return Math.abs(found - expected) <= 1e-9 * Math.abs(expected) ? [] : [`${at}: ${found}, ${expected}`];
  if (typeof found !== 'object' || typeof expected !== 'object' || found === null || expected === null)
    return found === expected ? [] : [`${at}: ${String(found)}, ${String(expected)}`];
  const keys = new Set([...Object.keys(found), ...Object.keys(expected)]);
  return [...keys].flatMap((key) => differences((found as Figures)[key], (expected as Figures)[key], `${at}.${key}`)); // prettier-ignore
}

const golden = async (): Promise<unknown> => JSON.parse(await readFile(join(folder, 'golden-figures.json'), 'utf8')); // prettier-ignore

test('every figure is that of the independent program', async () => {
  const expected = await golden();
  assert.equal(differences(await ownFigures(), expected), []);
  const planted = JSON.parse(JSON.stringify(expected)) as { verdict: { low: number } };
  planted.verdict.low *= 1 + 1e-8;
  assert.is(differences(planted, expected).length, 1);
});

test.needs(missing('python3'), 'the independent program still says so', async () => {
  const { code, stdout, stderr } = await run('python3', [join(folder, 'recompute.py'), dir]);
  assert.is(code, 0, stderr);
  assert.equal(differences(JSON.parse(stdout), await golden()), []);
});

test.run();
