/** Many made-up experiments with a known truth: how often the interval holds it, and how often a verdict is given. Seeded. */
import { gaussian, seededRandom, type Random } from '../../../power/simulator/random.js';
import { compareArms } from '../../../power/statistics/compare.js';
import { minimumDetectable } from '../../../power/statistics/detectable.js';
import type { ComparedBlock, ComparedRun, Comparison } from '../../../power/statistics/verdict.js';
import { assert, suite } from '../../tools/suite.js';
import { figuresOf, every, reading } from '../helpers/windows.js';

const test = suite('experiments by the hundred');
const template = figuresOf(every(1, -5, 66).map((t) => reading(t, 10)));
const trials = 250;

interface Truth {
  /** ln of the true ratio. */
  readonly effect: number;
  /** Relative deviation of one run. */
  readonly sd: number;
  /** Step of the meter, of a baseline of about 10. */
  readonly step: number;
  readonly blocks: number;
}

function runOf(arm: ComparedRun['arm'], value: number, step: number): ComparedRun {
  const u = { accuracy: null, resolution: step / Math.sqrt(12), repeatability: 0, tokenEdges: 0, total: 0 };
  return { arm, reasons: [], figures: { ...template, j_per_token: { value, u } } };
}

function experiment({ effect, sd, step, blocks }: Truth, random: Random): Comparison {
  // Where in a step the arms lie is chance, and the same for all runs of the experiment.
  const level = 10 + random();
  const shown = (arm: ComparedRun['arm']): ComparedRun => {
    const mean = arm === 'baseline' ? level : level * Math.exp(effect);
    const value = step === 0 ? mean : step * Math.round(mean / step);
    return runOf(arm, value * Math.exp(sd * gaussian(random)), step);
  };
  const block = (b: number): ComparedBlock => ({
    block: b,
    runs: (['baseline', 'candidate', 'candidate', 'baseline'] as const).map(shown),
  });
  return compareArms(Array.from({ length: blocks }, (_, b) => block(b)));
}

function shares(truth: Truth, seed: number): { held: number; shown: number } {
  const random = seededRandom(seed);
  let [held, shown] = [0, 0];
  for (let i = 0; i < trials; i += 1) {
    const { interval, verdict } = experiment(truth, random);
    const ratio = Math.exp(truth.effect);
    if (interval !== null && interval.low <= ratio && ratio <= interval.high) held += 1;
    if (verdict === 'lower' || verdict === 'higher') shown += 1;
  }
  return { held: held / trials, shown: shown / trials };
}

/** Four standard deviations of a share. */
const margin = (share: number): number => 4 * Math.sqrt((share * (1 - share)) / trials);

function isShare(found: number, expected: number, what: string): void {
  assert.ok(Math.abs(found - expected) <= margin(expected), `${what}: expected ${expected}, found ${found}`);
}

test('a fine meter: the interval holds the truth in 95 %, and no difference is called one in 5 %', () => {
  for (const blocks of [3, 6]) {
    const { held, shown } = shares({ effect: 0, sd: 0.01, step: 0, blocks }, 100 + blocks);
    isShare(held, 0.95, `${blocks} blocks, held`);
    isShare(shown, 0.05, `${blocks} blocks, shown`);
  }
});

test('a difference of the minimum detectable size is shown in 80 %', () => {
  const effect = Math.log1p(minimumDetectable({ blocks: 6, sd: 0.01, resolution: 0 }) ?? NaN);
  const { held, shown } = shares({ effect, sd: 0.01, step: 0, blocks: 6 }, 7);
  isShare(shown, 0.8, 'shown');
  isShare(held, 0.95, 'held');
});

test('a coarse meter and quiet runs: the interval of the step still holds the truth', () => {
  for (const effect of [0, -0.04]) {
    const { held } = shares({ effect, sd: 0.0005, step: 1, blocks: 6 }, 31);
    assert.ok(held >= 0.95 - margin(0.95), `effect ${effect}: held ${held}`);
  }
});

test('a coarse meter and runs as restless as its step: still', () => {
  const { held } = shares({ effect: -0.03, sd: 0.03, step: 0.5, blocks: 4 }, 53);
  assert.ok(held >= 0.95 - margin(0.95), `held ${held}`);
});

test.run();
