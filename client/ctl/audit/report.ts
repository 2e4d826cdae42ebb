import { table } from '../output.js';
import type { AuditReport } from './audit.js';
import { bound, type FlipReport, type LogitError, type RunReport } from './runs.js';
import type { RecordedReport } from './golden.js';
import type { Place } from './spikes.js';

const heads = [
  'run', 'first departure', 'margin', 'spikes that differ', 'free: max', 'mean', 'forced: max', 'mean',
  'decided otherwise', 'same inputs: max',
]; // prettier-ignore

export function auditText(report: AuditReport): string {
  const { input, positions, robust, nearest } = report;
  const marked = robust === null ? '' : robust ? ', marked robust' : ', not robust';
  const lines = [
    `${input}: ${positions} positions${marked}; the nearest threshold to flip: ${showPlace(nearest)}, margin ${short(nearest.margin)}`,
    table(
      [heads, ...report.runs.map(runRow), ...(report.recorded ? [recordedRow(report.recorded)] : [])],
      ['left', 'left', 'right', 'right', 'right', 'right', 'right', 'right', 'right', 'right'],
    ),
    ...report.flips.map(showFlip),
  ];
  return lines.join('\n');
}

export const legend = `Errors are of logits against the float64 reference, over all positions. free: the run as it is; forced: with the reference's
spikes; decided otherwise: thresholds that then disagree; same inputs: forced, against a reference that takes the same quantised
activations. Forced errors of f32 runs, those of the same inputs, and the margins of thresholds that then decide otherwise must stay
within ${short(bound)}.`;

function runRow(run: RunReport): string[] {
  return [
    run.within_bound === false ? `${run.run} FAIL` : run.run,
    ...departure(run.first),
    `${run.differing} of ${run.of}`,
    ...errors(run.free),
    ...errors(run.forced),
    String(run.decided_otherwise),
    run.same_inputs === null ? '' : short(run.same_inputs.max_abs),
  ];
}

function recordedRow(run: RecordedReport): string[] {
  const about = run.first?.neuron_by === 'count' ? ', by count' : '';
  const [place, margin] = departure(run.first);
  return [
    run.run,
    `${place}${about}`,
    margin,
    String(run.differing),
    ...errors(run.free),
    ...errors(run.forced),
    '',
    '',
  ];
}

function showFlip(flip: FlipReport): string {
  const { max_abs: max, mean_abs: mean } = flip.error;
  return `one flip at ${showPlace(flip)}, margin ${short(flip.margin)}: ${flip.differing} spikes differ, logits from there on by up to ${short(max)}, mean ${short(mean)}`;
}

function departure(first: (Place & { margin: number }) | null): [string, string] {
  return first === null ? ['none', ''] : [showPlace(first), short(first.margin)];
}

function showPlace({ position, threshold, layer, neuron }: Place): string {
  const where = layer === null ? 'encoder' : `layer ${layer} ${threshold}`;
  return `position ${position}, ${where}, neuron ${neuron}`;
}

function errors({ max_abs: max, mean_abs: mean }: LogitError): string[] {
  return [short(max), short(mean)];
}

function short(value: number): string {
  return value === 0 ? '0' : value < 0.01 ? value.toExponential(1) : value.toFixed(3);
}
