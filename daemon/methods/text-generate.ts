import { randomBytes } from 'node:crypto';
import { SpikedError, type FullParams } from '../../client/protocol/index.js';
import type { LoadedModel } from '../models/loaded-model.js';
import { Generation } from '../queue/generation.js';
import { checkOnePrompt, readPrompt } from '../text/prompt.js';
import type { Handler } from './handler.js';

export const textGenerate: Handler<'text.generate'> = async (params, { daemon, connection }) => {
  checkOnePrompt('text.generate', params);
  const { limits } = daemon.config;
  if (params.max_tokens > limits.max_tokens) {
    const text = `text.generate: "max_tokens": expected at most ${limits.max_tokens}, found ${params.max_tokens}`;
    throw new SpikedError('ERR_INVALID_ARGUMENT', text);
  }
  if (connection.streams.has(params.stream)) {
    const text = `text.generate: "stream": expected an id that is not active, found ${JSON.stringify(params.stream)} in use`;
    throw new SpikedError('ERR_INVALID_ARGUMENT', text);
  }
  const model = daemon.models.get(params.model);
  if (params.stop.length > 0) model.needTokenizer();
  checkHead(model, params.head);
  const banned = params.banned.find((id) => id >= model.native.info.vocabSize);
  if (banned !== undefined) {
    const text = `text.generate: "banned": expected ids below ${model.native.info.vocabSize}, found ${banned}`;
    throw new SpikedError('ERR_TOKEN_UNKNOWN', text);
  }
  const generation = new Generation({
    connection: connection.id,
    params,
    model,
    readPrompt: () => readPrompt(model, params, model.contextLimit - 1),
    seed: params.seed === undefined ? randomSeed() : BigInt(params.seed),
    listener: {
      ready: () => !connection.congested,
      together: (work) => connection.together(work),
      token: (event) => connection.notify('text.token', event),
      head: (event) => connection.notify('text.head', event),
    },
    scheduler: daemon.scheduler,
    counts: daemon.counts,
  });
  connection.streams.set(params.stream, generation);
  connection.jobs.add(generation);
  daemon.generations.add(generation);
  try {
    generation.submit();
    return await generation.result;
  } finally {
    connection.streams.delete(params.stream);
    connection.jobs.delete(generation);
    daemon.generations.delete(generation);
  }
};

/** Whether the model can serve the head: before the request waits for its turn. */
function checkHead(model: LoadedModel, head: FullParams<'text.generate'>['head']): void {
  try {
    model.native.checkHead(head);
  } catch (error) {
    if (!(error instanceof SpikedError)) throw error;
    throw new SpikedError(error.code, `text.generate: ${error.message}`);
  }
}

/** Below 2^53, so that every client can repeat it. */
function randomSeed(): bigint {
  return randomBytes(8).readBigUInt64LE() >> 11n;
}
