import { plural } from '../plural.js';
import type { Verdict } from '../statistics/verdict.js';
import { share } from '../statistics/wording.js';
import type { Value } from '../window/figures.js';
import type { CandidateResult } from './result.js';

/** Two digits of the uncertainty, and the value to the same place: `0.1234 ± 0.0021`. A dash for what was not measured. */
export function withUncertainty(value: Value | null): string {
  if (value === null) return '–';
  const { total } = value.u;
  if (!(total > 0)) return shortNumber(value.value);
  const digits = Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(total))));
  return `${value.value.toFixed(digits)} ± ${total.toFixed(digits)}`;
}

/** Four significant digits, never with an exponent. */
export function shortNumber(value: number | null): string {
  if (value === null) return '–';
  if (value === 0) return '0';
  const digits = Math.min(12, Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value)))));
  return minus(value.toFixed(digits));
}

/** Of a setting: as it was written, but for the rounding of binary fractions. */
export function plainNumber(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** A ratio as the difference that it is, `−3.12 %`, to the place of its uncertainty's second digit; as a factor, `×25`, where percent say nothing any more. */
export function signedPercent(ratio: number | null, u: number | null = null): string {
  if (ratio === null) return '–';
  const percent = 100 * (ratio - 1);
  if (ratio > 11 || ratio < 5e-5) return `×${Number(ratio.toPrecision(2))}`;
  const digits = u !== null && u > 0 ? Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(100 * u)))) : 2;
  const text = Math.abs(percent).toFixed(digits);
  const sign = Number(text) === 0 ? '' : percent < 0 ? '−' : '+';
  return `${sign}${text} %`;
}

/** With a capital and a full stop. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  return `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}${/[.!?]$/.test(trimmed) ? '' : '.'}`;
}

function minus(text: string): string {
  return text.replace('-', '−');
}

/** The verdict in one sentence, before any figure but the difference. */
export function headline({ candidate, baseline, verdict }: CandidateResult): string {
  const by = verdict.ratio === null ? '' : `${shortPercent(verdict.ratio)} `;
  const sentences: Readonly<Record<Verdict, string>> = {
    lower: `${candidate} uses ${by}less energy per token than ${baseline}.`,
    higher: `${candidate} uses ${by}more energy per token than ${baseline}.`,
    'no difference shown': `No difference in energy per token was shown between ${candidate} and ${baseline}.`,
    'below resolution': `This meter cannot tell ${candidate} from ${baseline}: the difference is below its resolution.`,
    'not enough valid blocks': `Nothing can be said of ${candidate} against ${baseline}: too few valid blocks.`,
  };
  return sentences[verdict.verdict];
}

/** What stands behind the headline: interval, blocks, test, and what could have been seen. */
export function evidence({ verdict }: CandidateResult): string {
  const { interval, sign_flip: flip, blocks, minimum_detectable: least } = verdict;
  if (verdict.verdict === 'below resolution' || interval === null) return verdict.text;
  const range = `95 % interval ${signedPercent(interval.low)} to ${signedPercent(interval.high)}`;
  const test = flip === null ? '' : `, sign-flip p ${flip.p.toPrecision(2)} (${flip.smallest.toPrecision(2)} is the least that so many blocks can give)`; // prettier-ignore
  const power = least === null || verdict.verdict !== 'no difference shown' ? '' : ` A difference of ${share(least)} would have shown in 80 of 100 such experiments.`; // prettier-ignore
  return `${sentence(`${range}, ${plural(blocks.length, 'block')}${test}`)}${power}`;
}

function shortPercent(ratio: number): string {
  const percent = Math.abs(100 * (ratio - 1));
  return `${percent.toFixed(percent < 10 ? 2 : 1)} %`;
}
