import { compareArms } from '../statistics/compare.js';
import { comparedFigures, type ComparedBlock, type ComparedFigure } from '../statistics/verdict.js';
import type { MeasuredRun } from './analyze.js';
import type { Attempt } from './attempts.js';
import type { CandidateResult, WindowName } from './result.js';

export interface ComparedCandidate {
  readonly result: CandidateResult;
  /** Attempts in the verdict. */
  readonly used: readonly Attempt[];
  /** Why others are not. */
  readonly why: ReadonlyMap<Attempt, readonly string[]>;
}

/** A candidate against the baseline, over the last attempt of each of its blocks: in both windows, by every figure. */
export function compareCandidate(
  { candidate, baseline, window }: { candidate: string; baseline: string; window: WindowName },
  attempts: readonly Attempt[],
  measured: ReadonlyMap<Attempt, readonly MeasuredRun[]>,
): ComparedCandidate {
  const own = attempts.filter(({ block }) => block.candidate === candidate);
  const last = own.filter(({ block, attempt }) => !own.some((other) => other.block === block && other.attempt > attempt)); // prettier-ignore
  const compare = (of: WindowName, figure: ComparedFigure) =>
    compareArms(last.map((attempt) => comparedBlock(attempt, measured.get(attempt) ?? [], candidate, of)), figure); // prettier-ignore
  const verdict = compare(window, 'j_per_token');
  const others = (['decode', 'full'] as const).flatMap((of) =>
    comparedFigures.flatMap((figure) =>
      of === window && figure === 'j_per_token' ? [] : [{ window: of, comparison: compare(of, figure) }],
    ),
  );
  const used = last.filter(({ block }) => verdict.blocks.some((one) => one.block === block.block));
  const why = new Map(
    last.flatMap((attempt) => {
      const excluded = verdict.excluded.find(({ block }) => block === attempt.block.block);
      if (excluded === undefined) return [];
      const runs = (measured.get(attempt) ?? []).flatMap(runFault(window));
      // Reasons of runs are told once, with the run; what is left is about the block as a whole.
      return [[attempt, runs.length > 0 ? runs : excluded.reasons.map(({ text }) => text)] as const];
    }),
  );
  const runs = used.flatMap((attempt) => measured.get(attempt) ?? []);
  const pairs = used.flatMap((attempt) => pairsOf(measured.get(attempt) ?? []));
  const equal = pairs.filter(([a, b]) => a.ids_sha256 === b.ids_sha256).length;
  return {
    result: { candidate, baseline, verdict, others, pairs: runs.length / 2, pairs_with_equal_ids: equal },
    used,
    why,
  };
}

function comparedBlock(
  { block, why }: Attempt,
  runs: readonly MeasuredRun[],
  candidate: string,
  window: WindowName,
): ComparedBlock {
  return {
    block: block.block,
    runs: runs.map((run) => ({
      arm: run.arm === candidate ? 'candidate' : 'baseline',
      figures: run[window].figures,
      // In the figures already.
      reasons: [],
    })),
    ...(why === null ? {} : { unfinished: why }),
  };
}

function runFault(window: WindowName): (run: MeasuredRun) => string[] {
  return (run) => {
    const { valid, reasons } = run[window].figures;
    return valid
      ? []
      : [`run ${run.block}-${run.slot} is invalid (${reasons.map(({ reason }) => reason).join(', ')})`];
  };
}

function pairsOf(runs: readonly MeasuredRun[]): [MeasuredRun, MeasuredRun][] {
  return runs.flatMap((run, i): [MeasuredRun, MeasuredRun][] => {
    const next = runs[i + 1];
    return i % 2 === 0 && next !== undefined ? [[run, next]] : [];
  });
}
