import type { NativeModel, NativeSession } from '../../../native/host/index.js';
import { greedy, greedySteps } from './greedy.js';
import { BytesMeter, type BytesByClass } from './work.js';

export interface Round {
  tokensPerSecond: number;
  /** Least bytes that one of its tokens had to read. */
  bytesPerToken: number;
  bytesByClass: BytesByClass;
}

const promptTokens = 8;

/** Ids of no meaning, the same in every measurement. */
export function arbitraryIds(n: number, { info }: NativeModel): Int32Array {
  return Int32Array.from({ length: n }, (_, i) => (i * 7919 + 1) % info.validVocabSize);
}

/**
 * From position 0: a short prompt, then `tokens` greedy steps, timed from the first token to the last.
 *
 * @param begin  called where the timing begins
 */
export async function decodeRound(
  session: NativeSession,
  model: NativeModel,
  tokens: number,
  begin: () => void = () => undefined,
): Promise<Round> {
  session.reset();
  const first = await session.step(arbitraryIds(promptTokens, model), greedy);
  const meter = new BytesMeter(session, model.info);
  begin();
  const last = await greedySteps(session, first, tokens, {}, (step) => {
    meter.add(1, step.head.bytes, step.stats);
  });
  const { bytes, byClass } = meter.perToken();
  return {
    tokensPerSecond: (tokens * 1e9) / Number(last.tNs - first.tNs),
    bytesPerToken: bytes,
    bytesByClass: byClass,
  };
}

export interface PrefillRound extends Round {
  /** Of the prompt. */
  tokens: number;
  /** From the call to the first token's id. */
  firstTokenMs: number;
}

/** From position 0: a prompt of `tokens` ids at once, timed from the call to the id that follows it. */
export async function prefillRound(
  session: NativeSession,
  model: NativeModel,
  tokens: number,
): Promise<PrefillRound> {
  session.reset();
  const prompt = arbitraryIds(tokens, model);
  const meter = new BytesMeter(session, model.info);
  const began = process.hrtime.bigint();
  const step = await session.step(prompt, greedy);
  const ns = Number(step.tNs - began);
  meter.add(tokens, step.head.bytes, session.stats());
  const { bytes, byClass } = meter.perToken();
  return {
    tokens,
    firstTokenMs: ns / 1e6,
    tokensPerSecond: (tokens * 1e9) / ns,
    bytesPerToken: bytes,
    bytesByClass: byClass,
  };
}

/** Reads every weight once, so that the first round waits for no disk. */
export async function warmUp(session: NativeSession, model: NativeModel): Promise<void> {
  await decodeRound(session, model, 2);
}
