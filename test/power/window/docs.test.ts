import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { detectableEffect } from '../../../power/statistics/detectable.js';
import { verdicts } from '../../../power/statistics/verdict.js';
import { invalidReasons } from '../../../power/window/figures.js';
import { root } from '../../tools/paths.js';
import { assert, suite } from '../../tools/suite.js';

const test = suite('docs/energy.md');
const page = readFileSync(join(root, 'docs', 'energy.md'), 'utf8');

/** The lines of one section, up to the next heading of any level. */
function section(title: string): string[] {
  const lines = page.split('\n');
  const start = lines.findIndex((line) => line.replace(/^#+ /, '') === title && line.startsWith('#'));
  assert.ok(start >= 0, `no section "${title}"`);
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => line.startsWith('#'));
  return end < 0 ? rest : rest.slice(0, end);
}

const cells = (line: string): string[] => line.split('|').map((cell) => cell.trim());
const codes = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => [...(cells(line)[1] ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ''));

test('each reason that voids a window has one row, in the order of the list', () => {
  assert.equal(codes(section('When there is no figure')), [...invalidReasons]);
});

test('each verdict has its place', () => {
  assert.equal(codes(section('Verdicts')), [...verdicts]);
});

test('the detectable effects are those that the code computes', () => {
  const rows = section('Minimum detectable difference').map(cells);
  const blocks = rows.find((row) => row[1] === 'blocks')?.slice(2, -1) ?? [];
  const effects = rows.find((row) => row[1] === 'e_n')?.slice(2, -1) ?? [];
  assert.ok(blocks.length > 5);
  assert.equal(
    effects,
    blocks.map((n) => (detectableEffect(Number(n)) ?? NaN).toFixed(2)),
  );
});

test.run();
