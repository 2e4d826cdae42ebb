import { addon } from '../../../native/host/index.js';
import type {
  Activations,
  ModelInfo,
  NativeEngine,
  NativeModel,
  NativeSession,
} from '../../../native/host/index.js';
import { SpikedError } from '../../protocol/errors.js';
import type { BenchBar } from './bar.js';
import { engineOf, type PlaceOptions } from '../engine.js';
import { threadsText } from './facts.js';
import { arithmeticPeak, bandwidth, checkThreads } from './limits.js';
import { decodeRound, prefillRound, warmUp, type PrefillRound, type Round } from './rounds.js';
import { everyCount, interleave, spreadOf, type Spread } from './stats.js';

export interface SweepOptions extends PlaceOptions {
  /** The most; every count from one on is measured. */
  threads: number;
  activations?: Activations | undefined;
  tokens: number;
  promptTokens: number;
  rounds: number;
}

/** One number of threads. */
export interface SweepPoint {
  engine: NativeEngine;
  decode: Spread;
  prefill: Spread;
  readGbPerS: Spread;
  /** Null where no peak is known for the instruction set. */
  peakGmacPerS: Spread | null;
  peakInstructions: string | null;
  /** Of the last round: the same in all. */
  decodeRound: Round;
  prefillRound: PrefillRound;
}

export interface Sweep {
  info: ModelInfo;
  /** By threads, from one. */
  points: readonly [SweepPoint, ...SweepPoint[]];
}

interface Bench {
  engine: NativeEngine;
  model: NativeModel;
  session: NativeSession;
  decode: Round[];
  prefill: PrefillRound[];
  read: number[];
  peak: number[];
  peakInstructions: string | null;
}

/** Calls of the bar that a sweep makes. */
export const sweepSteps = ({ threads, rounds }: SweepOptions): number => threads * rounds;

/**
 * Decode and prefill at every number of threads, with the read bandwidth and the arithmetic peak of each; in every round each number of
 * threads has its turn.
 *
 * @param more       runs at the end with the session of the most threads
 * @param cancelled  ends it with ERR_CANCELLED
 */
export async function sweep<T>(
  path: string,
  options: SweepOptions,
  bar: BenchBar,
  more: (session: NativeSession, model: NativeModel) => Promise<T>,
  cancelled?: AbortSignal,
): Promise<Sweep & { more: T }> {
  await checkThreads(options.threads);
  const open: Bench[] = [];
  try {
    for (const threads of everyCount(options.threads)) open.push(await openBench(path, threads, options));
    for (const { setting: bench } of interleave(open, options.rounds)) {
      if (cancelled?.aborted) throw new SpikedError('ERR_CANCELLED', 'bench: cancelled');
      bar.step(threadsText(bench.engine.threads));
      await measure(bench, options);
    }
    const [first, ...rest] = open.map(pointOf);
    const last = open.at(-1);
    if (first === undefined || last === undefined)
      throw new RangeError('a sweep: expected at least one thread');
    const { model, session } = last;
    return { info: model.info, points: [first, ...rest], more: await more(session, model) };
  } finally {
    for (const { engine, model, session } of open) {
      session.close();
      model.close();
      engine.close();
    }
  }
}

async function openBench(path: string, threads: number, options: SweepOptions): Promise<Bench> {
  const engine = addon().openEngine({
    ...engineOf({ ...options, threads }),
    activations: options.activations,
  });
  try {
    const model = await engine.openModel(path);
    const session = model.openSession();
    await warmUp(session, model);
    return { engine, model, session, decode: [], prefill: [], read: [], peak: [], peakInstructions: null };
  } catch (error) {
    engine.close();
    throw error;
  }
}

async function measure(bench: Bench, { tokens, promptTokens }: SweepOptions): Promise<void> {
  const { engine, model, session } = bench;
  bench.read.push(await bandwidth(engine.threads, 3));
  bench.decode.push(await decodeRound(session, model, tokens));
  const peak = await arithmeticPeak(engine, model.info, engine.threads);
  if (peak !== null) bench.peak.push(peak.gmacPerS.median);
  bench.peakInstructions = peak?.instructions ?? null;
  bench.prefill.push(await prefillRound(session, model, promptTokens));
}

function pointOf({ engine, decode, prefill, read, peak, peakInstructions }: Bench): SweepPoint {
  const [lastDecode, lastPrefill] = [decode.at(-1), prefill.at(-1)];
  if (lastDecode === undefined || lastPrefill === undefined)
    throw new RangeError('a sweep: expected at least one round');
  return {
    engine,
    decode: spreadOf(decode.map((round) => round.tokensPerSecond)),
    prefill: spreadOf(prefill.map((round) => round.tokensPerSecond)),
    readGbPerS: spreadOf(read),
    peakGmacPerS: peak.length === 0 ? null : spreadOf(peak),
    peakInstructions,
    decodeRound: lastDecode,
    prefillRound: lastPrefill,
  };
}

/** Share of the read bandwidth that decode reached. */
export const decodeShare = ({ decode, decodeRound: round, readGbPerS }: SweepPoint): number =>
  (decode.median * round.bytesPerToken) / (readGbPerS.median * 1e9);
