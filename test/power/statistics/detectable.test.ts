import { detectableBias, detectableEffect, minimumDetectable } from '../../../power/statistics/detectable.js';
import { signFlip } from '../../../power/statistics/sign-flip.js';
import { gaussian, seededRandom } from '../../../power/simulator/random.js';
import { assert, suite } from '../../tools/suite.js';

const test = suite('detectable difference and sign flips');

// Made once with NumPy 2.4: Gauss-Legendre over the density of chi for the power, root finding for the effect.
test('minimum detectable effect: the published table, and ten digits of an independent quadrature', () => {
  const golden = [
    [2, 11.5498884359],
    [3, 3.2640435497],
    [4, 2.1279493433],
    [5, 1.681996966],
    [6, 1.434544782],
    [8, 1.156034678],
    [10, 0.9960013715],
    [12, 0.8886542653],
    [16, 0.7494656445],
    [20, 0.6604416546],
    [30, 0.5292356151],
  ] as const;
  for (const [n, expected] of golden) {
    const found = detectableEffect(n) ?? NaN;
    assert.ok(Math.abs(found - expected) < 1e-9, `n = ${n}: expected ${expected}, found ${found}`);
  }
});

test('one block detects nothing, and the step of the meter stays however many there are', () => {
  assert.is(detectableEffect(1), null);
  assert.is(minimumDetectable({ blocks: 1, sd: 0.01, resolution: 0 }), null);
  assert.ok(Math.abs(detectableBias - (1.959963984540054 + 0.8416212335729143)) < 1e-9);
  const fine = minimumDetectable({ blocks: 100_000, sd: 0.01, resolution: 0 }) ?? NaN;
  const coarse = minimumDetectable({ blocks: 100_000, sd: 0.01, resolution: 0.04 }) ?? NaN;
  assert.ok(fine < 0.0002, `found ${fine}`);
  assert.ok(Math.abs(coarse - Math.expm1(detectableBias * 0.04)) < 1e-4, `found ${coarse}`);
});

test('a spread beyond all numbers has no detectable difference, not an infinite one', () => {
  assert.is(minimumDetectable({ blocks: 2, sd: 1000, resolution: 0 }), null);
});

/** By counting: every sign pattern as the bits of a number. */
function slowSignFlip(values: readonly number[]): number {
  const observed = Math.abs(values.reduce((a, b) => a + b, 0));
  let extreme = 0;
  for (let bits = 0; bits < 2 ** values.length; bits += 1) {
    const sum = values.reduce((a, x, i) => a + ((bits >> i) & 1 ? -x : x), 0);
    if (Math.abs(sum) >= observed - 1e-9) extreme += 1;
  }
  return extreme / 2 ** values.length;
}

test('sign flips: by counting all patterns, ties among them', () => {
  const random = seededRandom(11);
  for (let n = 1; n <= 12; n += 1) {
    const smooth = Array.from({ length: n }, () => gaussian(random));
    const tied = Array.from({ length: n }, () => Math.round(3 * gaussian(random)));
    assert.is(signFlip(smooth)?.p, slowSignFlip(smooth), `${n} smooth`);
    assert.is(signFlip(tied)?.p, slowSignFlip(tied), `${n} tied: ${tied.join(' ')}`);
  }
});

test('the smallest p of few blocks: 2 / 2^n', () => {
  for (const [n, smallest] of [
    [2, 0.5],
    [3, 0.25],
    [4, 0.125],
    [5, 0.0625],
    [6, 0.03125],
  ] as const) {
    const found = signFlip(Array.from({ length: n }, (_, i) => -1 - i / 100));
    assert.equal(found, { p: smallest, smallest });
  }
  assert.is(signFlip([]), null);
  assert.is(signFlip(Array.from({ length: 21 }, () => 1)), null);
});

test.run();
