import { FreshSequence } from '../queue/sequence.js';
import { checkOnePrompt, readPrompt } from '../text/prompt.js';
import { checkGeneration, runGeneration, seedOf } from './generation.js';
import type { Handler } from './handler.js';

export const textGenerate: Handler<'text.generate'> = async (params, call) => {
  checkOnePrompt('text.generate', params, ['prompt', 'tokens', 'messages']);
  const model = call.daemon.models.get(params.model);
  checkGeneration('text.generate', model, params, call);
  return runGeneration(call, {
    params,
    model,
    sequence: new FreshSequence(model),
    seed: seedOf(params.seed),
    readPrompt: () => readPrompt(model, params, model.contextLimit - 1),
  });
};
