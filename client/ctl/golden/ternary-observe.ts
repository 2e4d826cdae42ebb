import type { ForwardTrace, ModelInfo, NativeSession } from '../../../native/host/index.js';
import { bestIds, joinCalls, type ByPosition } from './by-position.js';

/** Codes and absmax: quantised rows a layer. */
const inputs = 4;

/**
 * What our engine computes for one sequence, under the reference's names: the prompt at once, then `fed` id by id. Feeding the reference's own
 * choices keeps later positions comparable after a first difference.
 *
 * @param session  at position 0
 */
export async function observeTernary(
  session: NativeSession,
  info: ModelInfo,
  prompt: Int32Array,
  fed: Int32Array,
): Promise<Map<string, ByPosition>> {
  const traces: { trace: ForwardTrace; positions: number }[] = [];
  const logits = new Float32Array((prompt.length + fed.length) * info.vocabSize);
  let at = 0;
  const feed = async (ids: Int32Array): Promise<void> => {
    const step = await session.forward(ids, {
      logits: 'all',
      trace: { blockOut: true, codes: true, finalNorm: true },
    });
    if (step.logits) logits.set(step.logits, at * info.vocabSize);
    if (step.trace) traces.push({ trace: step.trace, positions: ids.length });
    at += ids.length;
  };
  await feed(prompt);
  for (let i = 0; i < fed.length; i++) await feed(fed.slice(i, i + 1));

  const found = new Map<string, ByPosition>();
  const put = <T extends Float32Array | Int8Array>(
    name: string,
    layers: number,
    make: (length: number) => T,
    pick: (trace: ForwardTrace) => T | null | undefined,
  ): void => {
    const calls = traces.map(({ trace, positions }) => ({ values: pick(trace) ?? make(0), positions }));
    found.set(name, { values: joinCalls(calls, layers, make), layers, positions: at });
  };
  const codes = (length: number) => new Int8Array(length);
  const floats = (length: number) => new Float32Array(length);
  put('q_attn_in', info.nLayers, codes, (trace) => trace.codes?.attnIn);
  put('q_attn_out_in', info.nLayers, codes, (trace) => trace.codes?.attnOut);
  put('q_ffn_in', info.nLayers, codes, (trace) => trace.codes?.ffnIn);
  put('q_ffn_down_in', info.nLayers, codes, (trace) => trace.codes?.ffnDown);
  put('absmax', info.nLayers * inputs, floats, (trace) => trace.codes?.absmax);
  put('block_out', info.nLayers, floats, (trace) => trace.blockOut);
  put('final_norm', 1, floats, (trace) => trace.finalNorm);
  const rows = (from: number, to: number): ByPosition => ({
    values: logits.subarray(from * info.vocabSize, to * info.vocabSize),
    layers: 1,
    positions: to - from,
  });
  found.set('full_logits', rows(0, prompt.length));
  found.set('prefill_last_logits', rows(prompt.length - 1, prompt.length));
  found.set('decode_logits', rows(prompt.length, at));
  const chosen = bestIds(logits.subarray((prompt.length - 1) * info.vocabSize), info.vocabSize);
  found.set('greedy_ids', { values: chosen, layers: 1, positions: chosen.length });
  return found;
}
