import { examineBlock, type ValidBlock } from './blocks.js';
import { alpha, minimumDetectable } from './detectable.js';
import { signFlip } from './sign-flip.js';
import { tQuantile } from './student-t.js';
import type { ComparedBlock, ComparedFigure, Comparison, ExcludedBlock, Verdict } from './verdict.js';
import { sentence } from './wording.js';

const mean = (values: readonly number[]): number => values.reduce((sum, x) => sum + x, 0) / values.length;

/** Everything but the sentence. */
export type Measured = Omit<Comparison, 'text'>;

function standardDeviation(values: readonly number[]): number {
  const m = mean(values);
  return Math.sqrt(values.reduce((sum, x) => sum + (x - m) ** 2, 0) / (values.length - 1));
}

const finite = (x: number): number | null => (Number.isFinite(x) ? x : null);

/**
 * Half of the 95 % interval of d: t times the combined uncertainty, with the degrees of freedom that the statistical part leaves it; those of
 * the step are infinite. With the step alone it is 1.96 u, with the blocks alone the usual t interval.
 *
 * @source GUM, JCGM 100:2008, G.4.1 (Welch-Satterthwaite)
 */
function halfWidth(uStatistics: number, uResolution: number, blocks: number): number {
  const combined = Math.hypot(uStatistics, uResolution);
  const df = uStatistics === 0 ? Infinity : (blocks - 1) * (combined / uStatistics) ** 4;
  return tQuantile(1 - alpha / 2, df) * combined;
}

function verdictOf(d: number, half: number, uStatistics: number, uResolution: number): Verdict {
  const combined = Math.hypot(uStatistics, uResolution);
  if (Math.abs(d) < 2 * combined && uResolution > uStatistics) return 'below resolution';
  if (combined === 0 || Math.abs(d) <= half) return 'no difference shown';
  return d < 0 ? 'lower' : 'higher';
}

const unknown = {
  ratio: null,
  interval: null,
  sd_ln_ratio: null,
  u_statistics: null,
  u_resolution: null,
  u_combined: null,
  sign_flip: null,
  minimum_detectable: null,
};

function measure(valid: readonly ValidBlock[]): Omit<Measured, 'figure' | 'blocks' | 'excluded'> {
  const n = valid.length;
  if (n === 0) return { ...unknown, verdict: 'not enough valid blocks' };
  const effects = valid.map(({ effect }) => effect.ln_ratio);
  const d = mean(effects);
  const resolution = Math.sqrt(mean(valid.map(({ uResolution }) => uResolution ** 2)));
  const ratio = finite(Math.exp(d));
  if (n === 1) return { ...unknown, verdict: 'not enough valid blocks', ratio, u_resolution: resolution };
  const sd = standardDeviation(effects);
  const uStatistics = sd / Math.sqrt(n);
  const combined = Math.hypot(uStatistics, resolution);
  const half = halfWidth(uStatistics, resolution, n);
  const [low, high] = [finite(Math.exp(d - half)), finite(Math.exp(d + half))];
  // Equal to the last digit, on a meter of no known step: there is nothing to make an interval of.
  const interval =
    low === null || high === null || combined === 0 ? null : { low, high, confidence: 1 - alpha };
  return {
    verdict: verdictOf(d, half, uStatistics, resolution),
    ratio,
    interval,
    sd_ln_ratio: sd,
    u_statistics: uStatistics,
    u_resolution: resolution,
    u_combined: combined,
    sign_flip: signFlip(effects),
    minimum_detectable: minimumDetectable({ blocks: n, sd, resolution }),
  };
}

/**
 * What the blocks say of the candidate against the baseline, by one figure of one window.
 *
 * The unit is the block: d = mean over its pairs of ln(candidate) - ln(baseline). The meter's step goes in as a bias, in quadrature, never
 * divided by the number of blocks. Excluded blocks are listed and never averaged.
 *
 * @source energy-method.md, 2.5 and 5; docs/energy.md
 */
export function compareArms(
  blocks: readonly ComparedBlock[],
  figure: ComparedFigure = 'j_per_token',
): Comparison {
  const examined = blocks.map((block) => examineBlock(block, figure));
  const valid = examined.filter((block): block is ValidBlock => 'effect' in block);
  const excluded = examined.filter((block): block is ExcludedBlock => 'reasons' in block);
  const measured: Measured = {
    figure,
    blocks: valid.map(({ effect }) => effect),
    excluded,
    ...measure(valid),
  };
  return { ...measured, text: sentence(measured) };
}
