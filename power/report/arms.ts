import type { Plan } from '../experiment/plan.js';
import type { WindowFigures } from '../window/figures.js';
import type { ArmResult, RunResult } from './result.js';

/** Means of every arm over its runs that count, in the plan's window and order. */
export function armResults({ arms, window }: Plan, runs: readonly RunResult[]): ArmResult[] {
  return arms.map(({ name }) => {
    const own = runs.filter(({ arm }) => arm === name);
    const used = own.filter((run) => run.used).map((run) => run[window].figures);
    const valueOf = (key: 'j_per_token' | 'net_j_per_token' | 'paper_trimmed_j_per_token' | 'mean_watts') =>
      mean(used.map((figures) => figures[key]?.value ?? null));
    return {
      arm: name,
      runs: own.length,
      valid_runs: own.filter((run) => run[window].figures.valid).length,
      used_runs: used.length,
      j_per_token: valueOf('j_per_token'),
      net_j_per_token: valueOf('net_j_per_token'),
      paper_trimmed_j_per_token: valueOf('paper_trimmed_j_per_token'),
      mean_watts: valueOf('mean_watts'),
      tokens_per_second: mean(used.map(({ tokens_per_second: rate }: WindowFigures) => rate)),
    };
  });
}

/** Null when there is none, or one of them is not known. */
function mean(values: readonly (number | null)[]): number | null {
  let sum = 0;
  for (const value of values) {
    if (value === null) return null;
    sum += value;
  }
  return values.length === 0 ? null : sum / values.length;
}
