/** What text.generate and session.generate have in common. */
import { randomBytes } from 'node:crypto';
import { SpikedError, type FullParams, type MethodName, type Result } from '../../client/protocol/index.js';
import type { LoadedModel } from '../models/loaded-model.js';
import { Generation, type GenerationSetup } from '../queue/generation.js';
import type { Call } from './handler.js';

type Params = GenerationSetup['params'];

/** Whether a generation can be served at all: before it waits for its turn. */
export function checkGeneration(
  method: MethodName,
  model: LoadedModel,
  params: Params,
  { daemon, connection }: Call,
): void {
  const { max_tokens: mostTokens } = daemon.config.limits;
  if (params.max_tokens > mostTokens) {
    const text = `${method}: "max_tokens": expected at most ${mostTokens}, found ${params.max_tokens}`;
    throw new SpikedError('ERR_INVALID_ARGUMENT', text);
  }
  if (connection.streams.has(params.stream)) {
    const text = `${method}: "stream": expected an id that is not active, found ${JSON.stringify(params.stream)} in use`;
    throw new SpikedError('ERR_INVALID_ARGUMENT', text);
  }
  if (params.stop.length > 0) model.needTokenizer();
  checkHead(method, model, params.head);
  const banned = params.banned.find((id) => id >= model.native.info.vocabSize);
  if (banned !== undefined) {
    const text = `${method}: "banned": expected ids below ${model.native.info.vocabSize}, found ${banned}`;
    throw new SpikedError('ERR_TOKEN_UNKNOWN', text);
  }
}

/** Whether the model can serve the head. */
export function checkHead(
  method: MethodName,
  model: LoadedModel,
  head: FullParams<'text.generate'>['head'],
): void {
  try {
    model.native.checkHead(head);
  } catch (error) {
    if (!(error instanceof SpikedError)) throw error;
    throw new SpikedError(error.code, `${method}: ${error.message}`);
  }
}

/** From the queue to the summary; known to its connection meanwhile. */
export async function runGeneration(
  { daemon, connection }: Call,
  setup: Omit<GenerationSetup, 'owner' | 'connection' | 'listener' | 'scheduler' | 'counts'>,
): Promise<Result<'text.generate'>> {
  const { stream } = setup.params;
  const generation = new Generation({
    ...setup,
    owner: connection,
    connection: connection.id,
    listener: {
      ready: () => !connection.congested,
      together: (work) => connection.together(work),
      token: (event) => connection.notify('text.token', event),
      head: (event) => connection.notify('text.head', event),
    },
    scheduler: daemon.scheduler,
    counts: daemon.counts,
  });
  connection.streams.set(stream, generation);
  connection.jobs.add(generation);
  daemon.generations.add(generation);
  try {
    generation.submit();
    return await generation.result;
  } finally {
    connection.streams.delete(stream);
    connection.jobs.delete(generation);
    daemon.generations.delete(generation);
  }
}

/** A random one stays below 2^53, so that every client can repeat it. */
export function seedOf(seed: number | bigint | undefined): bigint {
  return seed === undefined ? randomBytes(8).readBigUInt64LE() >> 11n : BigInt(seed);
}

/** As small as it goes: a number where it is one that every client has. */
export function wireSeed(seed: bigint): number | bigint {
  return seed <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(seed) : seed;
}
