import { maxDraft, type FullParams, type Result } from '../../client/protocol/index.js';
import type { GeneratedStep } from '../../native/host/index.js';

type Params = Pick<FullParams<'text.generate'>, 'drafts' | 'temperature' | 'logprobs' | 'stop'>;
type Summary = Result<'text.generate'>['drafts'];
type Off = NonNullable<Summary>['off'];

/** Whether one generation may guess ids, and what came of its guesses. */
export class DraftTotals {
  private readonly asked: number;
  private readonly off: Off;
  private passes = 0;
  private unmatched = 0;
  private proposed = 0;
  private readonly lengths = new Array<number>(maxDraft + 1).fill(0);

  /** @param goesOn  the sequence serves later requests, so that nothing may be fed beyond a stop string */
  constructor({ drafts, temperature, logprobs, stop }: Params, goesOn: boolean) {
    this.asked = typeof drafts === 'boolean' ? (drafts ? maxDraft : 0) : drafts.max_draft;
    this.off =
      temperature > 0 ? 'temperature' : logprobs ? 'logprobs' : goesOn && stop.length > 0 ? 'stop' : null;
  }

  /** For the engine. */
  get maxDraft(): number {
    return this.off === null ? this.asked : 0;
  }

  add({ draft }: GeneratedStep): void {
    if (!draft) return;
    this.passes++;
    this.unmatched += Number(draft.guessed === 0);
    this.proposed += draft.guessed;
    this.lengths[draft.right] = (this.lengths[draft.right] ?? 0) + 1;
  }

  /** Null when nobody asked for drafts. */
  summary(): Summary {
    if (this.asked === 0) return null;
    const { passes, unmatched, proposed, lengths, off } = this;
    const accepted = lengths.reduce((sum, n, length) => sum + n * length, 0);
    return { passes, unmatched, proposed, accepted, accepted_lengths: lengths, off };
  }
}
