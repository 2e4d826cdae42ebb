import { differences, neonReport, type Expected } from './instructions.js';
import { assert, suite } from './suite.js';

const test = suite('instructions');

const expected = { product: 1000, sum: 500 };
const found = (counts: Record<string, number>): string[] => differences('neon', counts, expected, 0.02);

test('counts within the tolerance pass', () => {
  assert.equal(found(expected), []);
  assert.equal(found({ product: 1020, sum: 490 }), []);
});

test('a kernel that takes more is named with both counts', () => {
  assert.equal(found({ product: 1021, sum: 500 }), [
    'neon product: expected 1000 instructions, found 1021 (2.1 %)',
  ]);
});

test('a kernel that takes fewer is named, so that the gain will be kept', () => {
  assert.equal(found({ product: 900, sum: 500 }), [
    'neon product: expected 1000 instructions, found 900 (-10.0 %)',
  ]);
});

test('a case that is missing or new is named', () => {
  assert.equal(found({ product: 1000 }), ['neon sum: expected 500 instructions, found none']);
  assert.equal(found({ ...expected, scan: 7 }), ['neon scan: expected no such case instructions, found 7']);
});

test('the report divides by weights', () => {
  const counts = { product: 300, 'product x32': 4800, sum: 64 };
  const all: Expected = {
    gcc: '12.2.0',
    tolerance: 0.02,
    weights: { product: 1600, 'product x32': 51200, sum: 160 },
    counts: { avx2: {}, neon: counts, neon_dotprod: { ...counts, product: 200 } },
  };
  const { products, columns } = neonReport(all) as { products: unknown; columns: unknown };
  const one_token = { neon: 3, neon_dotprod: 2 };
  assert.equal(products, [{ kernel: 'product', one_token, of_32_tokens: { neon: 1.5, neon_dotprod: 1.5 } }]);
  assert.equal(columns, [{ kernel: 'sum', neon: 6.4, neon_dotprod: 6.4 }]);
});

test.run();
