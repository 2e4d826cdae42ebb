/** Whatever comes in, every number that goes out is one, and a void window has no energy. */
import { sampleFlags, type MeterTraits, type Sample } from '../../../power/meters/meter.js';
import { seededRandom, type Random } from '../../../power/simulator/random.js';
import type { IdlePower, RunInput, WindowFigures } from '../../../power/window/figures.js';
import { assert, suite } from '../../tools/suite.js';
import { at, figuresOf, traitsOf } from '../helpers/windows.js';

const test = suite('no number is infinite');
const strange = [
  0,
  -0,
  -1,
  1e-300,
  5e-324,
  1e9,
  1e300,
  -1e300,
  NaN,
  Infinity,
  -Infinity,
  null,
  10,
  10.1,
  10.2,
];

function pick<T>(random: Random, from: readonly T[]): T {
  const found = from[Math.floor(random() * from.length)];
  if (found === undefined) throw new Error('picked from nothing');
  return found;
}

/** Nine times in ten the first, so that many inputs are whole but for one thing. */
function rarely<T>(random: Random, [usual, ...others]: readonly [T, ...T[]]): T {
  return random() < 0.9 ? usual : pick(random, others);
}

function randomSamples(random: Random, wild: boolean): Sample[] {
  const spacing = rarely(random, [0.5, 1e-9, 0.01, 0.3, 1, 7]);
  const value = (usual: number): number | null =>
    wild && random() < 0.02 ? pick(random, strange) : usual + random() / 10;
  let t = -5;
  return Array.from({ length: rarely(random, [150, 0, 1, 2, 5, 40]) }, () => {
    t += random() < 0.1 ? 0 : spacing * (0.5 + random());
    return {
      tNs: at(t),
      watts: value(10),
      volts: value(230),
      amps: value(0.1),
      joules: value(t),
      flags: wild && random() < 0.01 ? [pick(random, sampleFlags)] : [],
    };
  });
}

function randomInput(random: Random, wild: boolean): RunInput {
  const to = rarely(random, [30, 0, 1e-9, 3, 4, 15, 60, 600]);
  const traits: Partial<MeterTraits> = {
    resolutionWatts: rarely(random, [0.1, 0, 1e-9, 1, 1e9]),
    accuracy: pick(random, [null, 0, 0.005, 1]),
    updatePeriodNs: rarely(random, [1e9, 1, 1e18]),
    rule: pick(random, ['backward-rectangle', 'trapezoid']),
    current: pick(random, ['alternating', 'direct']),
    maxWatts: rarely(random, [2300, null, 10.05]),
  };
  const idle: IdlePower = {
    watts: pick(random, [-1, 0, 9.9, 1e9]),
    uWatts: 1,
    uResolutionWatts: 0.8,
    uRepeatabilityWatts: 0.6,
    drifted: random() < 0.5,
  };
  let token = 0;
  return {
    samples: randomSamples(random, wild),
    traits: traitsOf(traits),
    updatePeriodNs: rarely(random, [1e9, 1, 1e7, 1e11, NaN, 0, -1, Infinity]),
    latencyNs: rarely(random, [0, 0.4, 5e8, 1e18]),
    fromNs: at(0),
    toNs: at(to),
    trimNs: rarely(random, [2e9, 0, 0.3, 1e18]),
    checksumErrors: rarely(random, [0, 1, 1e6]),
    tokenNs: Array.from({ length: rarely(random, [300, 0, 1, 2]) }, () =>
      at((token += 0.2 * pick(random, [0, 1, 1]))),
    ),
    idle: random() < 0.5 ? idle : null,
  };
}

/** Paths of numbers that are none, and of texts that show one. */
function faultsOf(value: unknown, path = ''): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [`${path}: ${value}`];
  if (typeof value === 'string') return /NaN|Infinity/.test(value) ? [`${path}: ${value}`] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => faultsOf(inner, `${path}.${key}`));
}

function energies(figures: WindowFigures): unknown[] {
  const { joules, mean_watts, j_per_token, paper_trimmed_j_per_token, net_joules, net_j_per_token } = figures;
  return [joules, mean_watts, j_per_token, paper_trimmed_j_per_token, net_joules, net_j_per_token];
}

test('thousands of tame and wild inputs', () => {
  const seen = { valid: 0, void: 0 };
  for (let seed = 1; seed <= 2000; seed += 1) {
    const random = seededRandom(seed);
    const input = randomInput(random, seed % 2 === 0);
    const figures = figuresOf(input.samples, input);
    assert.equal(faultsOf(figures), [], `seed ${seed}`);
    assert.is(figures.valid, figures.reasons.length === 0, `seed ${seed}`);
    const values = energies(figures);
    if (figures.valid)
      assert.ok(
        values.slice(0, 4).every((v) => v !== null),
        `seed ${seed}`,
      );
    else
      assert.ok(
        values.every((v) => v === null),
        `seed ${seed}`,
      );
    seen[figures.valid ? 'valid' : 'void'] += 1;
  }
  assert.ok(seen.valid > 100 && seen.void > 100, JSON.stringify(seen));
});

test('the check itself sees a planted one', () => {
  assert.equal(faultsOf({ a: [1, { b: NaN }], c: 'Infinity tokens' }), [
    '.a.1.b: NaN',
    '.c: Infinity tokens',
  ]);
});

test.run();
