import { spreadOf, type Spread } from '../stats.js';
import { plain } from './configurations.js';
import type { Measured } from './run.js';

/** What the rounds of one configuration say. */
export interface Outcome {
  name: string;
  exact: boolean;
  refused: string | undefined;
  /** Prompts after which every id was plain greedy's, in every round. */
  matched: number;
  nPrompts: number;
  /** Prompts, from 0, of which the rounds did not have the same ids. */
  unsteady: number[];
  tokensPerSecond: Spread;
  steadyRssBytes: Spread;
  /** The kernel's high-water mark, the largest of the rounds. */
  peakRssBytes: number;
  headRowsPerStep: number;
  fellBack: number;
  /** Passes by how many guessed ids were right in them, from 0; null without drafts. */
  acceptedLengths: number[] | null;
}

export function outcomes(measured: readonly Measured[]): Outcome[] {
  const reference =
    measured.find(({ configuration }) => configuration === plain)?.rounds[0]?.result.ids ?? [];
  return measured.map(({ configuration, rounds, refused }) => {
    const results = rounds.map(({ result }) => result);
    const same = (prompt: number, ids: readonly number[] = []) =>
      results.every((result) => equal(result.ids[prompt], ids));
    return {
      name: configuration.name,
      exact: configuration.exact,
      refused,
      matched: results.length === 0 ? 0 : reference.filter((ids, prompt) => same(prompt, ids)).length,
      nPrompts: reference.length,
      unsteady: [...reference.keys()].filter((prompt) => !same(prompt, results[0]?.ids[prompt])),
      tokensPerSecond: spreadOf(results.map((result) => result.tokens_per_s)),
      steadyRssBytes: spreadOf(results.map((result) => result.rss_bytes)),
      peakRssBytes: Math.max(0, ...rounds.map((round) => round.peak_rss_bytes)),
      headRowsPerStep: spreadOf(results.map((result) => result.head_rows_per_step)).median,
      fellBack: results[0]?.fell_back ?? 0,
      acceptedLengths: results[0]?.accepted_lengths ?? null,
    };
  });
}

/** What must not be: an exact configuration with other ids, or one whose rounds differ; undefined when all is well. */
export function broken(found: readonly Outcome[]): string | undefined {
  for (const one of found) {
    if (one.refused !== undefined) continue;
    if (one.unsteady.length > 0)
      return `${one.name}: expected the same ids in every round, found others after prompt ${one.unsteady[0]}`;
    if (one.exact && one.matched < one.nPrompts)
      return `${one.name}: expected plain greedy's ids after all ${one.nPrompts} prompts, found them after ${one.matched}`;
  }
  return undefined;
}

function equal(a: readonly number[] | undefined, b: readonly number[]): boolean {
  return a?.length === b.length && a.every((id, i) => id === b[i]);
}
