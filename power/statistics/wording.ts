/** The verdict as a person reads it. */
import { plural } from '../plural.js';
import type { Measured } from './compare.js';

/** `-3.1 %`, `+0.42 %`: a ratio as a change, to three digits but no finer than 0.01 %; as a factor, `×25`, where percent say nothing any more. */
export function change(ratio: number): string {
  if (ratio > 11 || ratio < 5e-5) return `×${Number(ratio.toPrecision(2))}`;
  const percent = 100 * (ratio - 1);
  const size = Number(Math.abs(percent).toFixed(2));
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  const text = percent.toFixed(digits);
  return `${Number(text) > 0 ? '+' : ''}${Number(text) === 0 ? '0.00' : text} %`;
}

/** `3.9 %`; of ten times and more `a factor of 25`. */
export const share = (x: number): string =>
  x < 10 ? `${(100 * x).toPrecision(2)} %` : `a factor of ${Number((1 + x).toPrecision(2))}`;

function details(m: Measured): string {
  const interval =
    m.interval === null ? '' : `95 % interval ${change(m.interval.low)} to ${change(m.interval.high)}, `;
  const flip =
    m.sign_flip === null
      ? ''
      : `; sign-flip p ${m.sign_flip.p.toPrecision(2)}, the smallest possible is ${m.sign_flip.smallest.toPrecision(2)}`;
  return `${interval}${plural(m.blocks.length, 'block')}${flip}`;
}

/** A whole step of the meter in the difference of two arms, relative: it may hide, or invent, so much. */
function stepText(m: Measured): string {
  const step = (m.u_resolution ?? 0) * Math.sqrt(6);
  return `one step of the meter is ${share(step)} of the reading`;
}

function tooFew(m: Measured): string {
  const total = m.blocks.length + m.excluded.length;
  const out = `${m.blocks.length} of ${plural(total, 'block')} valid, 2 are needed`;
  const [only] = m.blocks;
  if (only === undefined) return `Not enough valid blocks: ${out}.`;
  const pairs = only.pairs.map((pair) => change(pair.ratio)).join(', ');
  return `Not enough valid blocks: ${out}; no interval is claimed. The pairs differ by ${pairs}; ${stepText(m)}.`;
}

/** One or two sentences with the figures. */
export function sentence(m: Measured): string {
  if (m.verdict === 'not enough valid blocks' || m.ratio === null) return tooFew(m);
  const by = change(m.ratio);
  const found = `${by} (${details(m)})`;
  const mdd =
    m.minimum_detectable === null
      ? ''
      : ` A difference of ${share(m.minimum_detectable)} would have shown in 80 of 100 such experiments.`;
  switch (m.verdict) {
    case 'lower':
      return `The candidate uses less energy per token: ${found}.`;
    case 'higher':
      return `The candidate uses more energy per token: ${found}.`;
    case 'below resolution':
      return `The difference is below the meter's resolution: ${found}; ${stepText(m)}. A meter with a finer step is needed, more blocks do not help.`;
    case 'no difference shown':
      return `No difference shown: ${found}.${mdd}`;
  }
}
