import type { NativeSession } from '../../native/host/index.js';
import { Computation } from '../queue/computation.js';
import { checkOnePrompt, readPrompt } from '../text/prompt.js';
import type { Handler } from './handler.js';

export const textScore: Handler<'text.score'> = async (params, { daemon, connection }) => {
  checkOnePrompt('text.score', params, ['prompt', 'tokens']);
  const model = daemon.models.get(params.model);
  let session: NativeSession | null = null;
  const compute = async (ids: Int32Array): Promise<{ ids: Int32Array; logprobs: Float32Array }> => {
    session = model.native.openSession();
    try {
      const { logprobs } = await session.score(ids);
      daemon.counts.fed(null, session.stats());
      // On the wire they are f32, as the log-probabilities of generated tokens.
      return { ids, logprobs: Float32Array.from(logprobs) };
    } finally {
      session.close();
    }
  };
  const scoring = new Computation(
    {
      name: 'text.score',
      owner: connection,
      model,
      timeoutMs: params.timeout_ms,
      readIds: () => readPrompt(model, params, model.contextLimit),
      compute,
      abort: () => session?.cancel(),
    },
    daemon.scheduler,
    daemon.counts,
  );
  connection.jobs.add(scoring);
  try {
    scoring.submit();
    const { ids, logprobs } = await scoring.result;
    const scored = Array.from(logprobs.subarray(1));
    const total = scored.reduce((sum, logprob) => sum + logprob, 0);
    return {
      tokens: Array.from(ids),
      logprobs: [null, ...scored],
      total_logprob: total,
      perplexity: perplexityOf(scored, total),
    };
  } finally {
    connection.jobs.delete(scoring);
  }
};

/** Null for a single id, and for a text so improbable that no real holds it. */
function perplexityOf(scored: readonly number[], total: number): number | null {
  const perplexity = Math.exp(-total / scored.length);
  return Number.isFinite(perplexity) ? perplexity : null;
}
