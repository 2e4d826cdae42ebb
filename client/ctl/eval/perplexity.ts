import type { NativeSession } from '../../../native/host/index.js';
import { SpikedError } from '../../protocol/errors.js';
import { windowsOf, type Window } from './windows.js';

export interface WindowSettings {
  seq: number;
  stride: number;
  /** Put in front of every window; undefined for none. */
  bosId: number | undefined;
}

/** What is known after a window: everything counted from the start of the text. */
export interface Totals {
  windows: number;
  /** Ids fed to the model; those of overlapping windows, and each BOS, count each time. */
  fed: number;
  scored: number;
  /** -sum of log p, natural. */
  nats: number;
  /** Sum over the scored ids. */
  maskedMass: number;
}

export const noTotals: Totals = { windows: 0, fed: 0, scored: 0, nats: 0, maskedMass: 0 };

/**
 * Scores a text window by window, each from a fresh state, beginning after the windows that `from` knows. The sums are f64, one id after the
 * other in the order of the text, so they are the same bits wherever the work was interrupted.
 *
 * @yields the totals after each window
 * @throws SpikedError ERR_CANCELLED after session.cancel(), ERR_MODEL_INVALID when the model answers with what is no number
 */
export async function* scoreWindows(
  session: NativeSession,
  ids: Int32Array,
  { seq, stride, bosId }: WindowSettings,
  from: Totals = noTotals,
): AsyncGenerator<Totals> {
  let totals = from;
  for (const window of windowsOf(ids.length, seq, stride, bosId !== undefined)) {
    if (window.index < from.windows) continue;
    const fed = idsOf(ids, window, bosId);
    session.reset();
    const { logprobs, maskedMass } = await session.score(fed, { maskedMass: true });
    const skipped = fed.length - (window.to - window.from);
    totals = { ...totals, windows: window.index + 1, fed: totals.fed + fed.length };
    for (let i = window.scoreFrom; i < window.to; i++) {
      const at = i - window.from + skipped;
      totals.nats -= logprobs[at] ?? NaN;
      totals.maskedMass += maskedMass?.[at] ?? NaN;
      totals.scored++;
    }
    if (!Number.isFinite(totals.nats) || !Number.isFinite(totals.maskedMass))
      throw new SpikedError(
        'ERR_MODEL_INVALID',
        `tokens ${window.from} to ${window.to - 1}: expected finite log-probabilities, found ${totals.nats} nats`,
      );
    yield totals;
  }
}

function idsOf(ids: Int32Array, { from, to }: Window, bosId: number | undefined): Int32Array {
  if (bosId === undefined) return ids.slice(from, to);
  const fed = new Int32Array(to - from + 1);
  fed[0] = bosId;
  fed.set(ids.subarray(from, to), 1);
  return fed;
}

/** exp(nats / scored); NaN when nothing was scored. */
export function perplexityOf({ nats, scored }: Totals): number {
  return scored === 0 ? NaN : Math.exp(nats / scored);
}
