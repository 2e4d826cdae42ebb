/** Traces whose energy is known in closed form: less than 0.1 % off where the coverage is full, no energy where it is not. */
import type { Sample } from '../../../power/meters/meter.js';
import { gaussian, seededRandom } from '../../../power/simulator/random.js';
import type { RunInput } from '../../../power/window/figures.js';
import { assert, suite } from '../../tools/suite.js';
import { at, averaged, every, figuresOf, reading, reasonsOf, traitsOf } from '../helpers/windows.js';

const test = suite('energy of known traces');
const instant = traitsOf({ rule: 'trapezoid' });

function energyIs(
  samples: readonly Sample[],
  expected: number,
  change: Partial<RunInput> = {},
  share = 0.001,
): void {
  const figures = figuresOf(samples, change);
  assert.equal(figures.reasons, []);
  const found = figures.joules?.value ?? NaN;
  assert.ok(Math.abs(found / expected - 1) < share, `expected ${expected} J, found ${found} J`);
}

test('a constant load, whatever the phase of the meter', () => {
  for (const phase of [0, 0.001, 0.37, 0.999]) {
    const times = every(1, phase - 5, 66);
    energyIs(
      averaged((t) => 10.4 * t, times),
      10.4 * 56,
      {},
      1e-12,
    );
    energyIs(
      times.map((t) => reading(t, 10.4)),
      10.4 * 56,
      { traits: instant },
      1e-12,
    );
  }
});

test('a step inside the window, at an update of the meter, is exact; elsewhere within one update period of it', () => {
  const step = (t: number): number => (t < 20 ? 5 * t : 100 + 12 * (t - 20));
  const expected = step(58) - step(2);
  energyIs(averaged(step, every(1, -5, 66)), expected, {}, 1e-12);
  energyIs(averaged(step, every(1, -4.6, 66)), expected, {}, 1e-12); // edges lie on the plateaus
});

test('a ramp: the trapezoid is exact, the mean of the period before differs at the clipped edges only', () => {
  const ramp = (t: number): number => 5 * t + 0.05 * t * t;
  const expected = ramp(58) - ramp(2);
  for (const phase of [0, 0.5, 0.8]) {
    const times = every(1, phase - 5, 66);
    energyIs(
      times.map((t) => reading(t, 5 + 0.1 * t)),
      expected,
      { traits: instant },
      1e-12,
    );
    energyIs(averaged(ramp, times), expected, {}, 2e-4);
  }
});

test('the two rules differ on the same numbers, as they must, and the result names its own', () => {
  const rising = every(1, -5, 66).map((t) => reading(t, 10 + t));
  const rectangle = figuresOf(rising);
  const trapezoid = figuresOf(rising, { traits: instant });
  assert.is(rectangle.rule, 'backward-rectangle');
  assert.is(trapezoid.rule, 'trapezoid');
  // 1 W a second and samples a second apart: the rectangle stands half a watt above the line.
  assert.ok(Math.abs((rectangle.mean_watts?.value ?? NaN) - 40.5) < 1e-9);
  assert.ok(Math.abs((trapezoid.mean_watts?.value ?? NaN) - 40) < 1e-9);
});

test('a sine of the load, sampled by its means at irregular times', () => {
  const random = seededRandom(3);
  const joules = (t: number): number => 8 * t - (3 / 0.7) * Math.cos(0.7 * t);
  const times = [-5];
  while ((times.at(-1) ?? 0) < 66) times.push((times.at(-1) ?? 0) + 0.4 + 1.2 * random());
  energyIs(averaged(joules, times), joules(58) - joules(2), { updatePeriodNs: 1e9 }, 5e-3);
  // Away from the clipped edges nothing is lost at all: with updates on them it is exact.
  const onEdges = [...times.filter((t) => Math.abs(t - 2) > 0.3 && Math.abs(t - 58) > 0.3), 2, 58].sort(
    (a, b) => a - b,
  );
  energyIs(averaged(joules, onEdges), joules(58) - joules(2), {}, 1e-9);
});

test('noise averages out as the statistics say', () => {
  const random = seededRandom(17);
  const samples = every(1, -5, 66).map((t) => reading(t, 10 + 0.15 * gaussian(random)));
  const { mean_watts: mean, sd_watts: sd } = figuresOf(samples);
  assert.ok(mean !== null && sd !== null);
  assert.ok(Math.abs(sd - 0.15) < 0.04, `sd ${sd}`);
  assert.ok(Math.abs(mean.value - 10) < 4 * mean.u.repeatability, `mean ${mean.value}`);
});

test('whole watts: off by less than half a step, and the figures say that no run is long enough', () => {
  const samples = every(1, -5, 66).map((t) => reading(t, Math.round(10.4)));
  const figures = figuresOf(samples, { traits: traitsOf({ resolutionWatts: 1 }) });
  assert.is(figures.joules?.value, 560);
  assert.is(figures.resolution_limited, true);
  assert.ok(Math.abs((figures.mean_watts?.u.resolution ?? 0) - 0.2887) < 1e-4);
  assert.ok(
    figures.warnings.some((text) => text.includes('±5.0 %')),
    figures.warnings.join('\n'),
  );
});

test('polls faster than the updates: the same energy, and n is the number of update periods', () => {
  const updates = averaged((t) => 10 * t + Math.sin(3 * t), every(1, -5, 66));
  const polls = updates.flatMap((s, i) =>
    [0, 0.25, 0.5, 0.75].map((late) => reading(-4 + i + late, s.watts)),
  );
  const slow = figuresOf(updates);
  const fast = figuresOf(polls, { updatePeriodNs: 1e9 });
  assert.is(fast.samples, 4 * slow.samples);
  assert.is(fast.update_periods, slow.update_periods);
  assert.ok(Math.abs((fast.sd_watts ?? 0) / (slow.sd_watts ?? 0) - 1) < 0.05);
  assert.ok(
    Math.abs((fast.mean_watts?.u.repeatability ?? 0) / (slow.mean_watts?.u.repeatability ?? 1) - 1) < 0.1,
  );
});

test('latency: samples that come late are moved back, so that a step stays where it was', () => {
  const step = (t: number): number => (t < 30 ? 5 * t : 150 + 12 * (t - 30));
  const late = averaged(step, every(1, -5, 70)).map((s) => ({ ...s, tNs: s.tNs + 700_000_000n }));
  energyIs(late, step(57.3) - step(2.7), { latencyNs: 7e8 }, 1e-12);
});

test('a bare start or end of up to 2 % is told and is in the uncertainty', () => {
  const samples = averaged((t) => 10 * t, every(1, -5, 57.2));
  const figures = figuresOf(samples);
  assert.equal(figures.reasons, []);
  assert.ok(figures.coverage !== null && figures.coverage < 1 && figures.coverage > 0.98);
  assert.ok(Math.abs((figures.mean_watts?.value ?? 0) - 10) < 1e-9);
  assert.ok((figures.mean_watts?.u.repeatability ?? 0) > 0.1);
  assert.ok(figures.warnings.some((text) => text.includes('the rest is taken at the mean power')));
});

test('no energy where the trace has a hole, at any place of the window', () => {
  for (const hole of [1, 20, 56]) {
    const samples = averaged((t) => 10 * t, every(1, -5, 66)).filter(
      ({ tNs }) => tNs <= at(hole) || tNs >= at(hole + 3),
    );
    const figures = figuresOf(samples);
    assert.is(figures.joules, null, `hole at ${hole} s`);
    assert.ok(reasonsOf(figures).includes('gap'), `hole at ${hole} s: ${reasonsOf(figures).join()}`);
  }
});

test('a hole that is trimmed off does no harm', () => {
  const samples = averaged((t) => 10 * t, every(0.5, -5, 66)).filter(
    ({ tNs }) => tNs <= at(-2) || tNs >= at(1.5),
  );
  energyIs(samples, 560, { updatePeriodNs: 5e8 }, 1e-12);
});

test.run();
