import { Scoring } from '../queue/scoring.js';
import { checkOnePrompt, readPrompt } from '../text/prompt.js';
import type { Handler } from './handler.js';

export const textScore: Handler<'text.score'> = async (params, { daemon, connection }) => {
  checkOnePrompt('text.score', params);
  const model = daemon.models.get(params.model);
  const ids = (): Promise<Int32Array> => readPrompt(model, params, model.contextLimit);
  const scoring = new Scoring(model, ids, daemon.scheduler, daemon.counts);
  connection.jobs.add(scoring);
  try {
    scoring.submit();
    const { ids: tokens, logprobs } = await scoring.result;
    const scored = Array.from(logprobs.subarray(1));
    const total = scored.reduce((sum, logprob) => sum + logprob, 0);
    return {
      tokens: Array.from(tokens),
      logprobs: [null, ...scored],
      total_logprob: total,
      perplexity: scored.length > 0 ? Math.exp(-total / scored.length) : null,
    };
  } finally {
    connection.jobs.delete(scoring);
  }
};
