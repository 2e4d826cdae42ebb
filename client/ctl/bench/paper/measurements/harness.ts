import type { NativeSession, StepResult } from '../../../../../native/host/index.js';
import { greedy, greedySteps } from '../../greedy.js';
import type { HarnessResult } from '../results.js';
import type { Work } from '../settings.js';

type HarnessWork = Extract<Work, { kind: 'harness' }>;

/** Greedy from each prompt, always the same number of tokens. The first prompt goes once before, so that weights and tables are there. */
export async function harness(session: NativeSession, work: HarnessWork): Promise<HarnessResult> {
  await continuation(session, work.prompts[0] ?? [], work);
  const found: Continuation[] = [];
  for (const prompt of work.prompts) found.push(await continuation(session, prompt, work));
  const sum = (of: (one: Continuation) => number) => found.reduce((total, one) => total + of(one), 0);
  return {
    kind: 'harness',
    ids: found.map(({ ids }) => ids),
    tokens_per_s: (sum(({ ids }) => ids.length - 1) * 1e9) / sum(({ decodeNs }) => decodeNs),
    head_rows_per_step: sum(({ rows }) => rows) / sum(({ ids }) => ids.length),
    fell_back: sum(({ fellBack }) => fellBack),
    accepted_lengths: work.maxDraft === undefined ? null : histogram(found, work.maxDraft),
    rss_bytes: process.memoryUsage.rss(),
  };
}

interface Continuation {
  ids: number[];
  /** From the first token to the last. */
  decodeNs: number;
  /** Of the head, computed exactly. */
  rows: number;
  fellBack: number;
  /** Guessed ids that were right, pass by pass. */
  accepted: number[];
}

function histogram(found: readonly Continuation[], maxDraft: number): number[] {
  const counts = new Array<number>(maxDraft + 1).fill(0);
  for (const { accepted } of found) for (const n of accepted) counts[n] = (counts[n] ?? 0) + 1;
  return counts;
}

async function continuation(
  session: NativeSession,
  prompt: number[],
  { tokens, head, maxDraft }: HarnessWork,
): Promise<Continuation> {
  session.reset();
  const first = await session.step(Int32Array.from(prompt), greedy, { head });
  const steps: StepResult[] = [first];
  const accepted: number[] = [];
  const last = await greedySteps(session, first, tokens - 1, { head, maxDraft }, (step) => {
    steps.push(step);
    if (step.draft !== null) accepted.push(step.draft.right);
  });
  return {
    ids: steps.map(({ id }) => id),
    decodeNs: Number(last.tNs - first.tNs),
    rows: steps.reduce((sum, step) => sum + step.head.rows, 0),
    fellBack: steps.filter((step) => step.head.fellBack).length,
    accepted,
  };
}
