/** From the runs of a block to its one effect, or to the rules that exclude it. energy-method.md, 2.5 and 5. */
import type { Value } from '../window/figures.js';
import type {
  BlockEffect,
  ComparedBlock,
  ComparedFigure,
  ComparedRun,
  ExcludedBlock,
  PairEffect,
} from './verdict.js';

type Exclusion = ExcludedBlock['reasons'][number];

/** A block that counts, with the standard uncertainty of its effect that the meter's step leaves, relative. */
export interface ValidBlock {
  readonly effect: BlockEffect;
  readonly uResolution: number;
}

interface ArmValue {
  readonly arm: ComparedRun['arm'];
  readonly value: Value;
}

const mean = (values: readonly number[]): number => values.reduce((sum, x) => sum + x, 0) / values.length;
const runName = (run: ComparedRun, index: number): string => `run ${index + 1} (${run.arm})`;

function incomplete(block: ComparedBlock): Exclusion[] {
  const { runs, unfinished } = block;
  if (unfinished !== undefined) return [{ reason: 'incomplete', text: unfinished }];
  const pairsMatch = runs.every((run, i) => i % 2 === 0 || run.arm !== runs[i - 1]?.arm);
  if (runs.length > 0 && runs.length % 2 === 0 && pairsMatch) return [];
  const order = runs.map((run) => run.arm).join(', ') || 'none';
  return [{ reason: 'incomplete', text: `expected runs in pairs of baseline and candidate, found ${order}` }];
}

function runExclusions(run: ComparedRun, index: number, figure: ComparedFigure): Exclusion[] {
  const named = ({ reason, text }: Exclusion): Exclusion => ({
    reason,
    text: `${runName(run, index)}: ${text}`,
  });
  if (run.reasons.length > 0 || run.figures?.valid === false)
    return [...run.reasons, ...(run.figures?.reasons ?? [])].map(named);
  const value = run.figures?.[figure] ?? null;
  if (value === null) return [named({ reason: 'incomplete', text: `it has no ${figure}` })];
  if (value.value > 0) return [];
  return [
    named({ reason: 'not-positive', text: `${figure} is ${value.value.toPrecision(3)} J, it has no ratio` }),
  ];
}

/** Joules per token of unlike counts are no like work: a longer context costs more. */
function unequalTokens(runs: readonly ComparedRun[]): Exclusion[] {
  const counts = new Set(runs.map((run) => run.figures?.tokens).filter((n) => n !== undefined));
  if (counts.size < 2) return [];
  return [
    {
      reason: 'unequal-tokens',
      text: `the runs have ${[...counts].join(', ')} tokens, the same count is needed`,
    },
  ];
}

/** Every two neighbours of a block whose runs are all valid. */
function pairEffects(values: readonly ArmValue[]): PairEffect[] {
  return values.flatMap((first, i) => {
    const second = values[i + 1];
    if (i % 2 !== 0 || second === undefined) return [];
    const [b, c] = first.arm === 'baseline' ? [first, second] : [second, first];
    const [baseline, candidate] = [b.value.value, c.value.value];
    return [{ baseline, candidate, ratio: candidate / baseline }];
  });
}

/** The block's effect, or every rule that excludes it. A block counts whole or not at all. */
export function examineBlock(block: ComparedBlock, figure: ComparedFigure): ValidBlock | ExcludedBlock {
  const { runs } = block;
  const reasons = [
    ...incomplete(block),
    ...runs.flatMap((run, i) => runExclusions(run, i, figure)),
    ...unequalTokens(runs),
  ];
  if (reasons.length > 0) return { block: block.block, reasons };
  const values = runs.flatMap(({ arm, figures }): ArmValue[] => {
    const value = figures?.[figure] ?? null;
    return value === null ? [] : [{ arm, value }];
  });
  const pairs = pairEffects(values);
  const lnRatio = mean(pairs.map((pair) => Math.log(pair.candidate) - Math.log(pair.baseline)));
  // All runs of an arm lie in the same place of the same step: its bias is one, however many runs. Two arms, two biases.
  const relative = values.map(({ value }) => value.u.resolution / value.value);
  return {
    effect: { block: block.block, pairs, ln_ratio: lnRatio, ratio: Math.exp(lnRatio) },
    uResolution: Math.sqrt(2 * mean(relative.map((r) => r * r))),
  };
}
