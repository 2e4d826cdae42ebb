import { table } from '../output.js';
import type { SamplingReport } from './sampling.js';
import type { Comparison, SequenceReport } from './sequence.js';
import type { TernaryComparison, TernaryReport } from './ternary-sequence.js';

export function sequenceTable(reports: SequenceReport[]): string {
  const head = ['sequence', 'robust', 'max abs error', 'mean abs', 'top-1', 'top-5', 'margin', 'result'];
  const rows = reports.map((report) => [
    report.tag,
    report.robust ? 'yes' : 'no',
    report.max_abs.toExponential(2),
    report.mean_abs.toExponential(2),
    percent(report.top1),
    percent(report.top5),
    Math.min(report.margin.encoder, report.margin.mixer, report.margin.ffn).toExponential(2),
    verdict(report),
  ]);
  const text = table([head, ...rows], ['left', 'left', 'right', 'right', 'right', 'right', 'right']);
  return [text, ...reports.flatMap(details)].join('\n');
}

export function ternaryTable(reports: TernaryReport[]): string {
  const head = ['sequence', 'kv', 'contract', 'robust', 'logits', 'beyond', 'first other code', 'result'];
  const rows = reports.map((report) => {
    const logits = report.comparisons.filter(({ name }) => name.endsWith('logits'));
    const codes = report.comparisons.filter(({ name }) => name.startsWith('q_'));
    const flips = codes.flatMap(({ first }) => (first === null ? [] : [first]));
    return [
      report.tag,
      report.kv,
      report.contract,
      `${report.robust_positions} of ${report.positions}`,
      Math.max(0, ...logits.map(({ error }) => error)).toExponential(2),
      Math.max(0, ...logits.map(({ error_beyond: error }) => error)).toExponential(2),
      flips.length === 0 ? 'none' : `position ${Math.min(...flips)}`,
      report.passed ? 'pass' : 'FAIL',
    ];
  });
  const text = table([head, ...rows], ['left', 'left', 'left', 'right', 'right', 'right', 'right']);
  return [text, ...reports.flatMap(ternaryDetails)].join('\n');
}

function ternaryDetails({ tag, comparisons, splits_different: splits }: TernaryReport): string[] {
  const lines = comparisons
    .filter((comparison) => !comparison.passed)
    .map((comparison) => `  ${tag}: ${showTernary(comparison)}`);
  if (splits.length > 0) lines.push(otherBits(tag, splits));
  return lines;
}

function showTernary({ name, error, first, held }: TernaryComparison): string {
  const exact = name.startsWith('q_') || name === 'greedy_ids';
  const what = exact ? `up to ${error} a position differ` : `off by up to ${error.toExponential(2)}`;
  return `${name}: ${what} in the ${held} positions that should agree, from position ${first ?? 0}`;
}

function otherBits(tag: string, splits: readonly string[]): string {
  return `  ${tag}: other bits when the prompt is fed as ${splits.join(', ')}`;
}

export function samplingTable(reports: SamplingReport[]): string {
  const head = ['case', 'steps', 'max abs error', 'settings', 'result'];
  const rows = reports.map((report) => [
    String(report.index),
    String(report.steps),
    report.max_abs.toExponential(2),
    report.settings,
    report.passed ? 'pass' : `FAIL: ${report.reason}`,
  ]);
  return table([head, ...rows], ['right', 'right', 'right']);
}

function verdict(report: SequenceReport): string {
  if (report.splits_different.length > 0) return 'FAIL';
  if (report.passed) return 'pass';
  return report.robust ? 'FAIL' : 'differs (not robust)';
}

function details(report: SequenceReport): string[] {
  const lines = report.comparisons
    .filter((comparison) => !comparison.passed)
    .map((comparison) => `  ${report.tag}: ${show(comparison)}`);
  if (report.splits_different.length > 0) lines.push(otherBits(report.tag, report.splits_different));
  return lines;
}

function show({ name, different, max_abs: maxAbs }: Comparison): string {
  return different === undefined
    ? `${name}: off by up to ${maxAbs?.toExponential(2)}`
    : `${name}: ${different} values differ`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)}%`;
}
