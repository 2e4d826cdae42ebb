import {
  countDifferent,
  difference,
  sameBits,
  topAgreement,
  topIndices,
} from '../../client/ctl/golden/compare.js';
import { splitsOf } from '../../client/ctl/golden/splits.js';
import { toJson } from '../../client/ctl/output.js';
import { assert, suite } from '../tools/suite.js';

const test = suite('comparisons');
const f32 = (...values: number[]) => Float32Array.from(values);

test('difference: largest and mean; NaN and a missing value are infinite', () => {
  assert.equal(difference(f32(1, 2, 4), f32(1, 3, 2)), { maxAbs: 2, meanAbs: 1 });
  assert.is(difference(f32(1, NaN), f32(1, 2)).maxAbs, Infinity);
  assert.is(difference(f32(1), f32(1, 2)).maxAbs, Infinity);
});

test('countDifferent: places, or all of them when the lengths differ', () => {
  assert.is(countDifferent(Int32Array.of(1, 2, 3), Int32Array.of(1, 0, 3)), 1);
  assert.is(countDifferent(Int32Array.of(1, 2), Int32Array.of(1, 2, 3)), 3);
});

test('sameBits: -0 is not +0, NaN is itself', () => {
  assert.not(sameBits(f32(0), f32(-0)));
  assert.ok(sameBits(f32(NaN), f32(NaN)));
});

test('topIndices: by value, the lowest index first among equals', () => {
  assert.equal(topIndices(f32(1, 5, 5, -Infinity, 3), 3), [1, 2, 4]);
  assert.equal(topIndices(f32(2, 1), 5), [0, 1]);
});

test('topAgreement: shared part of the top k over the rows', () => {
  assert.is(topAgreement(f32(3, 2, 1, 1, 2, 3), f32(3, 2, 1, 3, 2, 1), 3, 1), 0.5);
  assert.is(topAgreement(f32(3, 2, 1), f32(2, 3, 1), 3, 2), 1);
});

test('splitsOf: every split covers the prompt, in more than one piece, each once', () => {
  for (const n of [1, 2, 7, 8, 60, 130]) {
    const splits = splitsOf(n);
    assert.is(new Set(splits.map((split) => split.join())).size, splits.length);
    for (const split of splits) {
      assert.ok(split.length > 1);
      assert.is(
        split.reduce((sum, size) => sum + size, 0),
        n,
      );
    }
  }
  assert.is(splitsOf(130).length, 3);
});

test('toJson writes 64-bit integers exactly', () => {
  assert.is(
    toJson({ a: 18446744073709551615n, b: '1', c: [2n] }),
    '{"a":18446744073709551615,"b":"1","c":[2]}',
  );
});

test.run();
