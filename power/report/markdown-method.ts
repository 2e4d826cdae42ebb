import { markdownTable } from './markdown-table.js';
import type { PartResult, Result } from './result.js';
import { plural } from '../plural.js';
import { plainNumber, shortNumber, withUncertainty } from './words.js';

const rules = {
  'backward-rectangle': 'backward rectangle: each reading is the mean power since the one before',
  trapezoid: 'trapezoid: each reading is the power of an instant',
} as const;

/** How the figures came about: meter, windows, rules. */
export function methodSection(result: Result): string[] {
  const { method, boundary, window, parts, note } = result;
  const count = method.tokens === null ? 'none' : `${method.tokens}, ${method.tokens_from === 'pilot' ? 'fixed by a pilot of every arm' : 'as the plan says'}`; // prettier-ignore
  const trims = [...new Set(result.runs.map((run) => run[window].figures.trim_s))].map((s) => `${plainNumber(s)} s`); // prettier-ignore
  const rows = [
    ['inside the number', boundary === '' ? 'not stated by the plan' : boundary],
    [
      'window',
      `${window}: ${window === 'decode' ? 'first token to last token' : 'request sent to last answer'}`,
    ],
    ['trimmed off each end', trims.join(', ') || '–'],
    ['integration', [...new Set(parts.map(({ rule }) => rules[rule]))].join('; ')],
    ['delay of the meter', `${plainNumber(method.latency_s)} s`],
    ['tokens of a run', count],
    ['order', `${plural(method.blocks, 'block')} a candidate, ABBA and BAAB in turn, seed ${method.seed}`],
    ['idle', idleText(result)],
    ...(note === '' ? [] : [['note of the plan', note]]),
  ];
  return [
    '## How it was measured',
    markdownTable(['', ''], rows, 'words'),
    markdownTable(['part', 'meter', 'simulated', 'step', 'class', 'update period', 'samples', 'warm-up'], parts.map(meterRow), 'words'),
    'Uncertainties are standard uncertainties (about 68 %): accuracy class, step of the meter, repeatability and token edges, root of the sum of squares. The step is a bias and is never averaged away. Intervals of differences are over blocks, with the step in quadrature; the accuracy class cancels in them.',
  ]; // prettier-ignore
}

function meterRow(part: PartResult): string[] {
  const { meter, warm_up: warm } = part;
  const name = [meter.maker, meter.model ?? meter.profile ?? meter.kind].filter((word) => word !== null);
  const serial = meter.serial === null ? '' : `, serial ${meter.serial}`;
  const firmware = meter.firmware === null ? '' : `, firmware ${meter.firmware}`;
  const slope = warm?.watts_per_minute ?? null;
  return [
    String(part.part),
    `${name.join(' ')}${serial}${firmware}; \`${meter.address}\``,
    meter.simulated ? 'YES' : 'no',
    `${plainNumber(part.resolution_watts)} W`,
    part.accuracy === null ? 'unknown' : `${plainNumber(100 * part.accuracy)} %`,
    `${shortNumber(part.update_period_s)} s ${part.update_period_basis === 'profile' ? 'by its profile, not measured' : `measured, ${plainNumber(part.nominal_period_s)} s nominal`}`,
    part.unusable_samples === 0 ? String(part.samples) : `${part.samples}, ${part.unusable_samples} unusable`,
    warm === null ? 'none' : `${plainNumber(Math.round(warm.seconds))} s, ${warm.steady ? 'steady' : 'NOT steady'}${slope === null ? '' : ` (${shortNumber(slope)} W/min)`}`,
  ]; // prettier-ignore
}

function idleText({ idles, method }: Result): string {
  const known = idles.filter(({ watts }) => watts !== null);
  if (known.length === 0) return idles.length === 0 ? 'not measured' : 'no usable window';
  const each = known.map(({ watts, after_block: after }) => `${withUncertainty(watts)} W ${after === 0 ? 'before the first block' : `after block ${after}`}`); // prettier-ignore
  return `windows of ${plainNumber(method.idle_s)} s: ${each.join(', ')}`;
}
