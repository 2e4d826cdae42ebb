import type { NativeSession } from '../../../../../native/host/index.js';
import { greedy } from '../../greedy.js';
import type { DecodeResult, PrefillResult } from '../results.js';

/** Greedy decode from a fresh state, timed from the first token to the last, as the paper's decode window is. */
export async function decode(session: NativeSession, ids: number[], tokens: number): Promise<DecodeResult> {
  session.reset();
  const began = process.hrtime.bigint();
  let step = await session.step(Int32Array.from(ids), greedy);
  const first = step.tNs;
  const found = [step.id];
  let bytes = 0;
  while (found.length < tokens) {
    step = await session.step(Int32Array.of(step.id), greedy);
    bytes += session.stats().bytesTouched;
    found.push(step.id);
  }
  const steps = tokens - 1;
  return {
    kind: 'decode',
    tokens_per_s: (steps * 1e9) / Number(step.tNs - first),
    bytes_per_token: bytes / steps,
    prefill_ns: Number(first - began),
    ids: found,
  };
}

/** A whole prompt at once, its last logits included. One token goes first, so that the weights are in memory. */
export async function prefill(session: NativeSession, ids: number[]): Promise<PrefillResult> {
  await session.forward(Int32Array.from(ids.slice(0, 1)), { logits: 'last' });
  session.reset();
  const began = process.hrtime.bigint();
  const { tNs } = await session.forward(Int32Array.from(ids), { logits: 'last' });
  return {
    kind: 'prefill',
    tokens: ids.length,
    tokens_per_s: (ids.length * 1e9) / Number(tNs - began),
  };
}
