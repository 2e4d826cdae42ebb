/** Random traces through the product and through a slow account of them in another language (reference.py). */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Rule } from '../../../power/meters/meter.js';
import { gaussian, seededRandom, type Random } from '../../../power/simulator/random.js';
import { root } from '../../tools/paths.js';
import { assert, missing, suite } from '../../tools/suite.js';
import { at, figuresOf, reading, reasonsOf, traitsOf } from '../helpers/windows.js';

const test = suite('a slow reference');

interface Case {
  readonly rule: Rule;
  readonly period: number;
  readonly trim: number;
  readonly from: number;
  readonly to: number;
  readonly latency: number;
  readonly samples: readonly (readonly [number, number | null])[];
  readonly tokens: readonly number[];
}

interface Account {
  readonly joules: number;
  readonly coverage: number;
  readonly gap: boolean;
  readonly samples: number;
  readonly sd: number;
  readonly u_rep: number;
  readonly tokens: number;
}

const milli = (t: number): number => Math.round(t * 1000) / 1000;

/** Steps, a ramp and noise with memory, at irregular times; one reading in 15 is missing; a hole in one case of four. */
function randomCase(random: Random, index: number): Case {
  const period = 0.5 + random();
  const to = 30 + 20 * random();
  const holeAt = index % 4 === 0 ? 5 + (to - 10) * random() : Infinity;
  const samples: [number, number | null][] = [];
  let noise = 0;
  for (let t = -5; t < to + 5; t += period * (0.92 + 0.16 * random())) {
    noise = 0.6 * noise + gaussian(random);
    const watts = (t < to / 3 ? 6 : 11) + 0.03 * t + 0.3 * noise;
    if (t > holeAt && t < holeAt + 3 * period) continue;
    samples.push([milli(t), random() < 1 / 15 ? null : watts]);
  }
  const tokens: number[] = [];
  for (let t = 0; t <= to; t += 0.05 + 0.3 * random()) tokens.push(milli(t));
  return {
    rule: index % 2 === 0 ? 'backward-rectangle' : 'trapezoid',
    period: milli(period),
    trim: milli(3 * random()),
    from: 0,
    to: milli(to),
    latency: index % 3 === 0 ? milli(random()) : 0,
    samples,
    tokens,
  };
}

function isClose(found: number, expected: number, share: number, what: string): void {
  assert.ok(
    Math.abs(found - expected) <= share * Math.abs(expected),
    `${what}: expected ${expected}, found ${found}`,
  );
}

test.needs(
  missing('python3'),
  'twenty-four random traces: energy, coverage, gaps, statistics and tokens agree',
  () => {
    const random = seededRandom(2024);
    const cases = Array.from({ length: 24 }, (_, i) => randomCase(random, i));
    const script = join(root, 'test', 'power', 'window', 'reference.py');
    const { stdout, stderr, status } = spawnSync('python3', [script], {
      input: JSON.stringify(cases),
      encoding: 'utf8',
    });
    assert.is(status, 0, stderr);
    const accounts = JSON.parse(stdout) as Account[];
    const outcomes = { valid: 0, void: 0 };
    cases.forEach((one, i) => {
      const expected = accounts[i];
      assert.ok(expected);
      const name = `case ${i}`;
      const figures = figuresOf(
        one.samples.map(([t, watts]) => reading(t, watts)),
        {
          traits: traitsOf({ rule: one.rule, updatePeriodNs: one.period * 1e9 }),
          updatePeriodNs: one.period * 1e9,
          latencyNs: one.latency * 1e9,
          trimNs: one.trim * 1e9,
          toNs: at(one.to),
          tokenNs: one.tokens.map(at),
        },
      );
      isClose(figures.coverage ?? NaN, expected.coverage, 1e-4, `${name}: coverage`);
      assert.is(reasonsOf(figures).includes('gap'), expected.gap, `${name}: gap`);
      assert.is(figures.samples, expected.samples, `${name}: samples`);
      assert.is(figures.tokens_in_window, expected.tokens, `${name}: tokens`);
      outcomes[figures.valid ? 'valid' : 'void'] += 1;
      if (figures.joules === null) return;
      isClose(figures.joules.value, expected.joules, 1e-4, `${name}: joules`);
      isClose(figures.j_per_token?.value ?? NaN, expected.joules / expected.tokens, 1e-4, `${name}: J/token`);
      if (figures.update_periods !== figures.samples) return;
      isClose(figures.sd_watts ?? NaN, expected.sd, 1e-9, `${name}: sd`);
      isClose(figures.mean_watts?.u.repeatability ?? NaN, expected.u_rep, 1e-9, `${name}: u_rep`);
    });
    assert.ok(outcomes.valid >= 8 && outcomes.void >= 4, JSON.stringify(outcomes));
  },
);

test.run();
