import { table } from '../output.js';
import type { SamplingReport } from './sampling.js';
import type { Comparison, SequenceReport } from './sequence.js';

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
  if (report.splits_different.length > 0)
    lines.push(`  ${report.tag}: other bits when the prompt is fed as ${report.splits_different.join(', ')}`);
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
