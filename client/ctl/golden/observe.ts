import type { ForwardTrace, ModelInfo, NativeSession } from '../../../native/host/index.js';
import { topIndices, type Values } from './compare.js';

/** What our engine computes for one sequence, under the reference's names and shapes. */
export interface Observed {
  tensors: Map<string, Values>;
  /** Smallest |z - threshold| of any neuron. */
  margin: { encoder: number; mixer: number; ffn: number };
}

/**
 * Feeds the prompt at once and then `fed` id by id. Feeding the reference's own choices keeps every later
 * position comparable after a first difference; greedy_ids are what we would have chosen.
 *
 * @param session  at position 0
 */
export async function observe(
  session: NativeSession,
  info: ModelInfo,
  prompt: Int32Array,
  fed: Int32Array,
  blockOut: boolean,
): Promise<Observed> {
  const tensors = new Map<string, Values>();
  const prefill = await session.forward(prompt, { logits: 'all', trace: { blockOut } });
  const full = prefill.logits ?? new Float32Array();
  let last: Float32Array = full.slice(-info.vocabSize);
  tensors.set('full_logits', full).set('prefill_last_logits', last);
  if (prefill.trace?.blockOut) tensors.set('block_out', prefill.trace.blockOut);
  putState(tensors, session, ['after_prompt', 'after_prefill']);

  const traces: ForwardTrace[] = prefill.trace ? [prefill.trace] : [];
  const greedy = Int32Array.from([argmax(last), ...fed]);
  const decode = new Float32Array(fed.length * info.vocabSize);
  for (let i = 0; i < fed.length; i++) {
    const step = await session.forward(fed.slice(i, i + 1), { logits: 'last', trace: { blockOut: false } });
    last = step.logits ?? last;
    decode.set(last, i * info.vocabSize);
    greedy[i + 1] = argmax(last);
    if (step.trace) traces.push(step.trace);
  }
  tensors.set('decode_logits', decode).set('greedy_ids', greedy);
  putState(tensors, session, ['after_decode', 'after_decode']);
  putCounts(tensors, traces, info.nLayers, prompt.length + fed.length);
  const smallest = (pick: (trace: ForwardTrace) => number) => Math.min(...traces.map(pick));
  return {
    tensors,
    margin: {
      encoder: smallest((trace) => trace.marginEncoder),
      mixer: smallest((trace) => trace.marginMixer),
      ffn: smallest((trace) => trace.marginFfn),
    },
  };
}

function putState(
  tensors: Map<string, Values>,
  session: NativeSession,
  [when, cacheWhen]: [string, string],
): void {
  tensors.set(`v_mem_${when}`, session.membrane());
  tensors.set(`h_${when}`, session.decayState());
  tensors.set(`kv_positions_${cacheWhen}`, session.kvPositions());
}

/** Joins the calls' layer-major counts [L, n] to [L, positions]. */
function putCounts(
  tensors: Map<string, Values>,
  traces: ForwardTrace[],
  nLayers: number,
  positions: number,
): void {
  const encoder = new Int32Array(positions);
  const mixer = new Int32Array(nLayers * positions);
  const ffn = new Int32Array(nLayers * positions);
  let at = 0;
  for (const trace of traces) {
    const n = trace.activeEncoder.length;
    encoder.set(trace.activeEncoder, at);
    for (let layer = 0; layer < nLayers; layer++) {
      mixer.set(trace.activeMixer.subarray(layer * n, (layer + 1) * n), layer * positions + at);
      ffn.set(trace.activeFfn.subarray(layer * n, (layer + 1) * n), layer * positions + at);
    }
    at += n;
  }
  tensors.set('act_encoder', encoder).set('act_tcam_in', mixer).set('act_ffn_hidden', ffn);
}

function argmax(logits: Float32Array): number {
  return topIndices(logits, 1)[0] ?? -1;
}
