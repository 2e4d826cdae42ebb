import { generatedSteps, type NativeSession } from '../../../../../native/host/index.js';
import { greedy } from '../../greedy.js';
import type { HarnessResult } from '../results.js';
import type { Work } from '../settings.js';

type HarnessWork = Extract<Work, { kind: 'harness' }>;

const none = new Int32Array();

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
  { tokens, head, maxDraft = 0 }: HarnessWork,
): Promise<Continuation> {
  session.reset();
  let last = await session.step(Int32Array.from(prompt), greedy, { head });
  const first = last.tNs;
  const steps = [last];
  const accepted: number[] = [];
  while (steps.length < tokens) {
    // Ends early only if JavaScript falls far behind.
    const options = { head, maxTokens: tokens - steps.length, stopIds: none, maxDraft };
    await session.generate(Int32Array.of(last.id), greedy, options, (rows, n) => {
      for (const step of generatedSteps(rows, n)) {
        steps.push(step);
        if (step.draft !== null) accepted.push(step.draft.right);
      }
      last = steps.at(-1) ?? last;
    });
  }
  return {
    ids: steps.map(({ id }) => id),
    decodeNs: Number(last.tNs - first),
    rows: steps.reduce((sum, step) => sum + step.head.rows, 0),
    fellBack: steps.filter((step) => step.head.fellBack).length,
    accepted,
  };
}
