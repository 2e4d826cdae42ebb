/** A meter that shows whole steps: the bias of its mean, by simulation, and whether the figures own up to it. energy-method.md, 2.1. */
import { gaussian, seededRandom } from '../../../power/simulator/random.js';
import { assert, suite } from '../../tools/suite.js';
import { at, every, figuresOf, reading, tokensAt, traitsOf } from '../helpers/windows.js';

const test = suite('quantisation');

/** Figures of 800 s of a load of `watts`, noise `sigma`, on a meter of whole watts. */
function shown(watts: number, sigma: number, seed: number, seconds = 800) {
  const random = seededRandom(seed);
  return figuresOf(
    every(1, -5, seconds + 5).map((t) => reading(t, Math.round(watts + sigma * gaussian(random)))),
    { traits: traitsOf({ resolutionWatts: 1 }), toNs: at(seconds), tokenNs: tokensAt(1, 0, seconds) },
  );
}

/** The worst bias of the mean over places in the step, each from 9,600 readings. */
function worstBias(sigma: number): number {
  let worst = 0;
  for (let place = 0.025; place < 0.5; place += 0.025) {
    const means = Array.from(
      { length: 12 },
      (_, i) => shown(10 + place, sigma, 1 + i).mean_watts?.value ?? NaN,
    );
    const mean = means.reduce((a, b) => a + b, 0) / means.length;
    worst = Math.max(worst, Math.abs(mean - 10 - place));
  }
  return worst;
}

test('the bias of the mean is that of the published table', () => {
  for (const [sigma, expected] of [
    [0, 0.5],
    [0.05, 0.377],
    [0.1, 0.286],
    [0.2, 0.145],
    [0.3, 0.054],
    [0.5, 0.0023],
  ] as const) {
    const found = worstBias(sigma);
    // Places are 0.025 apart; the mean of 9,600 readings is known to about 0.005, the worst of 19 to three times that.
    assert.ok(Math.abs(found - expected) < 0.026, `sigma ${sigma}: expected ${expected}, found ${found}`);
  }
});

test('the step counts as a bias whatever the readings look like', () => {
  for (const [watts, sigma] of [
    [10.4, 0],
    [10.5, 0.02],
    [10.2, 0.8],
  ] as const) {
    const { mean_watts: mean } = shown(watts, sigma, 9, 60);
    assert.ok(Math.abs((mean?.u.resolution ?? 0) - 1 / Math.sqrt(12)) < 1e-12);
  }
});

test('a quiet load is resolution-limited, also on the edge of a step where its readings flip', () => {
  for (const [watts, sigma] of [
    [10.2, 0],
    [10.5, 0.02],
    [10.5, 0.2],
    [10.45, 0.1],
  ] as const)
    assert.is(shown(watts, sigma, 5).resolution_limited, true, `${watts} W, sigma ${sigma}`);
  for (const watts of [10, 10.25, 10.5])
    assert.is(shown(watts, 0.7, 5).resolution_limited, false, `${watts} W, sigma 0.7`);
});

test.run();
