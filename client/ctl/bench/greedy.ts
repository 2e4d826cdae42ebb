import { generatedSteps } from '../../../native/host/index.js';
import type {
  GeneratedStep,
  HeadSettings,
  NativeSession,
  Sampling,
  StepResult,
} from '../../../native/host/index.js';

/** What every measurement decodes with, so that its ids can be compared. */
export const greedy: Sampling = {
  temperature: 0,
  topK: 0,
  topP: 1,
  repetitionPenalty: 1,
  adaptiveTemperature: false,
  bannedIds: new Int32Array(),
};

const none = new Int32Array();

/** So many greedy steps after `first`, whatever their ids say; `take` gets each. Returns the last. */
export async function greedySteps(
  session: NativeSession,
  first: StepResult,
  tokens: number,
  options: { head?: HeadSettings | undefined; maxDraft?: number | undefined },
  take: (step: GeneratedStep) => void,
): Promise<StepResult> {
  let last = first;
  for (let left = tokens; left > 0;) {
    // Ends early only if JavaScript falls far behind.
    const wanted = { ...options, maxTokens: left, stopIds: none };
    await session.generate(Int32Array.of(last.id), greedy, wanted, (rows, n) => {
      for (const step of generatedSteps(rows, n)) {
        take(step);
        last = step;
        left -= 1;
      }
    });
  }
  return last;
}
