import { SpikedError } from '../../../protocol/errors.js';
import type { BenchBar } from '../bar.js';
import { runJob } from '../paper/process.js';
import type { HarnessResult, Repetition } from '../paper/results.js';
import { interleave } from '../stats.js';
import type { Configuration } from './configurations.js';
import { harnessTokens } from './prompts.js';

export interface HarnessRequest {
  model: string;
  prompts: number[][];
  threads: number;
  rounds: number;
  configurations: readonly Configuration[];
}

/** What one process of a configuration did. */
export interface Round extends Omit<Repetition, 'result'> {
  result: HarnessResult;
}

export interface Measured {
  configuration: Configuration;
  /** Empty for one that this model does not have. */
  rounds: Round[];
  /** Why not. */
  refused: string | undefined;
}

/**
 * Every configuration in a fresh process a round; in each round all have their turn.
 *
 * @throws SpikedError what a process reported, but that the model does not have a configuration; the signal's reason
 */
export async function runHarness(
  request: HarnessRequest,
  bar: BenchBar,
  signal: AbortSignal,
): Promise<Measured[]> {
  const all = request.configurations.map((configuration): Measured => {
    return { configuration, rounds: [], refused: undefined };
  });
  for (const { setting: one, repetition } of interleave(all, request.rounds)) {
    bar.step(`round ${repetition + 1}: ${one.configuration.name}`);
    if (one.refused !== undefined) continue;
    try {
      one.rounds.push(await runRound(request, one.configuration, signal));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      one.refused = error.message;
    }
  }
  return all;
}

async function runRound(
  { model, prompts, threads }: HarnessRequest,
  { head, memory, headBits, maxDraft }: Configuration,
  signal: AbortSignal,
): Promise<Round> {
  const work = { kind: 'harness', prompts, tokens: harnessTokens, head, maxDraft } as const;
  const job = { model, threads, activations: 'f32', memory, headBits, work, bandwidthBytes: 0 } as const;
  const { result, ...facts } = await runJob(job, signal);
  if (result.kind !== 'harness')
    throw new SpikedError('ERR_INTERNAL', `a measuring process: expected harness, found ${result.kind}`);
  return { ...facts, result };
}

function isRefusal(error: unknown): error is SpikedError {
  return (
    error instanceof SpikedError &&
    (error.code === 'ERR_INVALID_ARGUMENT' || error.code === 'ERR_MODEL_UNSUPPORTED')
  );
}
