import type { NativeModel } from '../../../native/host/index.js';
import { SpikedError } from '../../protocol/errors.js';
import { useSession } from '../engine.js';
import { errorByPosition } from './by-position.js';
import { splitsThatDiffer } from './splits.js';
import type { Contract, TernaryCase, TernarySequence } from './ternary-case.js';
import { observeTernary } from './ternary-observe.js';

/** One tensor of a sequence. */
export interface TernaryComparison {
  name: string;
  /** Compared positions that have to agree. */
  held: number;
  /** Largest error there (absolute; but for logits, as a share beyond magnitude 1); of integers, how many differ in a position. */
  error: number;
  /** The same of the other positions. */
  error_beyond: number;
  /** The first position of all that does not agree; null when there is none. */
  first: number | null;
  passed: boolean;
}

export interface TernaryReport {
  tag: string;
  kv: 'f32' | 'f16';
  contract: Contract;
  length: number;
  robust_positions: number;
  positions: number;
  tolerance: number;
  passed: boolean;
  comparisons: TernaryComparison[];
  /** Prefill splits whose bits differ from the prompt fed at once; none in a correct engine. */
  splits_different: string[];
}

const names = [
  'full_logits', 'prefill_last_logits', 'decode_logits', 'greedy_ids',
  'q_attn_in', 'q_attn_out_in', 'q_ffn_in', 'q_ffn_down_in', 'absmax', 'block_out', 'final_norm',
] as const; // prettier-ignore
const required: readonly string[] = ['full_logits', 'prefill_last_logits', 'decode_logits', 'greedy_ids'];

/** Where a tensor's first row stands in the sequence of `prompt` ids. */
function startOf(name: string, prompt: number): number {
  if (name === 'decode_logits') return prompt;
  return name === 'prefill_last_logits' || name === 'greedy_ids' ? prompt - 1 : 0;
}

/**
 * Holds one sequence to the reference.
 *
 * @param model     of an engine that keeps keys and values as the sequence wants it
 * @param contract  of that engine
 */
export async function checkTernary(
  model: NativeModel,
  golden: TernaryCase,
  sequence: TernarySequence,
  contract: Contract,
): Promise<TernaryReport> {
  const { info } = model;
  const integers = (name: string) => Int32Array.from(sequence.get(name)?.values ?? []);
  const prompt = integers('input_ids');
  const fed = integers('greedy_ids').slice(0, -1);
  const found = await useSession(model, (session) => observeTernary(session, info, prompt, fed));
  const comparisons: TernaryComparison[] = [];
  for (const name of names) {
    const [expected, ours] = [sequence.get(name)?.values, found.get(name)];
    if (expected === undefined || ours === undefined) {
      if (sequence.promptOnly || !required.includes(name)) continue;
      throw new SpikedError(
        'ERR_CHECKPOINT_TENSOR',
        `${golden.file}: tensor "${sequence.tag}.${name}": expected, found none`,
      );
    }
    // Logits are held absolutely; a residual stream may be large.
    const relative = !name.endsWith('logits');
    const byPosition = errorByPosition(
      ours,
      { ...ours, values: expected },
      relative && expected instanceof Float32Array,
    );
    const limit = expected instanceof Float32Array ? sequence.tolerance : 0;
    comparisons.push(judge(name, byPosition, limit, startOf(name, prompt.length), sequence.robustPositions));
  }
  const whole = found.get('full_logits')?.values;
  const splits = whole instanceof Float32Array ? await splitsThatDiffer(model, prompt, whole) : [];
  return {
    tag: sequence.tag,
    length: sequence.length,
    kv: sequence.kv,
    contract,
    robust_positions: Math.min(sequence.robustPositions, prompt.length + fed.length),
    positions: prompt.length + fed.length,
    tolerance: sequence.tolerance,
    passed: comparisons.every(({ passed }) => passed) && splits.length === 0,
    comparisons,
    splits_different: splits,
  };
}

function judge(
  name: string,
  byPosition: readonly number[],
  limit: number,
  start: number,
  robust: number,
): TernaryComparison {
  const held = Math.max(0, Math.min(byPosition.length, robust - start));
  const worst = (errors: readonly number[]) => errors.reduce((a, b) => Math.max(a, b), 0);
  const first = byPosition.findIndex((error) => error > limit);
  const error = worst(byPosition.slice(0, held));
  return {
    name,
    held,
    error,
    error_beyond: worst(byPosition.slice(held)),
    first: first === -1 ? null : start + first,
    passed: error <= limit,
  };
}
