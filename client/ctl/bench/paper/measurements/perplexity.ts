import type { NativeSession } from '../../../../../native/host/index.js';
import { noTotals, perplexityOf, scoreWindows } from '../../../eval/perplexity.js';
import type { PerplexityResult } from '../results.js';

/** As `spikectl eval perplexity` computes it, without BOS. */
export async function perplexity(
  session: NativeSession,
  { ids, seq, stride }: { ids: number[]; seq: number; stride: number },
): Promise<PerplexityResult> {
  let totals = noTotals;
  for await (totals of scoreWindows(session, Int32Array.from(ids), { seq, stride, bosId: undefined }));
  return {
    kind: 'perplexity',
    perplexity: perplexityOf(totals),
    nats: totals.nats,
    tokens: ids.length,
    tokens_scored: totals.scored,
    masked_mass: totals.maskedMass / totals.scored,
    seq,
    stride,
  };
}
