import type { ModelInfo, NativeModel } from '../../../native/host/index.js';
import { SpikedError } from '../../protocol/errors.js';
import { useSession } from '../engine.js';
import type { GoldenCase, GoldenSequence } from './case.js';
import { countDifferent, difference, topAgreement, type Values } from './compare.js';
import { observe } from './observe.js';
import { splitsThatDiffer } from './splits.js';

/** Largest absolute error of a logit or a state value in a sequence marked robust. */
export const tolerance = 5e-5;

export interface Comparison {
  name: string;
  /** Places that differ, for integers. */
  different?: number;
  max_abs?: number;
  mean_abs?: number;
  passed: boolean;
}

export interface SequenceReport {
  tag: string;
  length: number;
  robust: boolean;
  passed: boolean;
  max_abs: number;
  mean_abs: number;
  /** Shares over prompt and decode positions. */
  top1: number;
  top5: number;
  margin: { encoder: number; mixer: number; ffn: number };
  comparisons: Comparison[];
  /** Prefill splits whose bits differ from the prompt fed at once; none in a correct engine. */
  splits_different: string[];
}

export async function checkSequence(
  model: NativeModel,
  golden: GoldenCase,
  sequence: GoldenSequence,
): Promise<SequenceReport> {
  const { info } = model;
  const prompt = integers(golden, sequence, 'input_ids');
  const greedy = integers(golden, sequence, 'greedy_ids');
  const wanted = expectedTensors(golden, sequence, info, prompt.length);
  const observed = await useSession(model, (session) =>
    observe(session, info, prompt, greedy.slice(0, -1), wanted.has('block_out')),
  );
  const comparisons = [...wanted].map(([name, expected]) =>
    compare(name, observed.tensors.get(name), expected),
  );
  const logits = (from: Map<string, Values>) => joined(from.get('full_logits'), from.get('decode_logits'));
  const [found, expected] = [logits(observed.tensors), logits(wanted)];
  const error = difference(found, expected);
  const splits = await splitsThatDiffer(model, prompt, floats(observed.tensors.get('full_logits')));
  return {
    tag: sequence.tag,
    length: sequence.length,
    robust: sequence.robust,
    passed: comparisons.every((comparison) => comparison.passed) && splits.length === 0,
    max_abs: error.maxAbs,
    mean_abs: error.meanAbs,
    top1: topAgreement(found, expected, info.vocabSize, 1),
    top5: topAgreement(found, expected, info.vocabSize, 5),
    margin: observed.margin,
    comparisons,
    splits_different: splits,
  };
}

const required = [
  'full_logits', 'prefill_last_logits', 'greedy_ids', 'decode_logits', 'act_encoder', 'act_tcam_in', 'act_ffn_hidden',
]; // prettier-ignore
/** Compared where the reference recorded them; a report lists what was compared. */
const optional = [
  'v_mem_after_prompt', 'v_mem_after_decode', 'h_after_prompt', 'h_after_decode',
  'kv_positions_after_prefill', 'kv_positions_after_decode', 'block_out',
]; // prettier-ignore

function expectedTensors(
  golden: GoldenCase,
  sequence: GoldenSequence,
  info: ModelInfo,
  prompt: number,
): Map<string, Values> {
  const wanted = new Map<string, Values>();
  for (const name of required) wanted.set(name, tensor(golden, sequence, name));
  for (const name of optional) {
    const values = sequence.get(name)?.values;
    if (values === undefined || values.length === 0) continue;
    wanted.set(name, name.startsWith('kv_') ? visiblePositions(values, info) : values);
  }
  // Some references hold the blocks' outputs for the decoded positions as well.
  const blocks = wanted.get('block_out');
  if (blocks) wanted.set('block_out', promptPart(blocks, info, prompt));
  return wanted;
}

/** The 194m reference keeps every key; ours drops those that no later query can see, as the 0.8b form does. */
function visiblePositions(positions: Values, info: ModelInfo): Int32Array {
  const last = positions[positions.length - 1] ?? 0;
  const window = info.form === '0.8b' ? Math.max(1, info.window) : info.window;
  return Int32Array.from(positions).filter(
    (position) => position < info.nAnchors || position >= last - window,
  );
}

/** [L, positions, D] cut to [L, prompt, D]. */
function promptPart(blocks: Values, info: ModelInfo, prompt: number): Float32Array {
  const width = blocks.length / info.nLayers;
  const kept = new Float32Array(info.nLayers * prompt * info.embedDim);
  for (let layer = 0; layer < info.nLayers; layer++)
    kept.set(
      blocks.subarray(layer * width, layer * width + prompt * info.embedDim),
      layer * prompt * info.embedDim,
    );
  return kept;
}

function compare(name: string, found: Values | undefined, expected: Values): Comparison {
  if (expected instanceof Int32Array) {
    const different = found instanceof Int32Array ? countDifferent(found, expected) : expected.length;
    return { name, different, passed: different === 0 };
  }
  if (found?.length !== expected.length)
    return { name, max_abs: Infinity, mean_abs: Infinity, passed: false };
  const { maxAbs, meanAbs } = difference(found, expected);
  return { name, max_abs: maxAbs, mean_abs: meanAbs, passed: maxAbs <= tolerance };
}

function tensor(golden: GoldenCase, sequence: GoldenSequence, name: string): Values {
  const values = sequence.get(name)?.values;
  if (values !== undefined) return values;
  throw new SpikedError(
    'ERR_CHECKPOINT_TENSOR',
    `${golden.file}: tensor "${sequence.tag}.${name}": expected, found none`,
  );
}

function integers(golden: GoldenCase, sequence: GoldenSequence, name: string): Int32Array {
  return Int32Array.from(tensor(golden, sequence, name));
}

function floats(values: Values | undefined): Float32Array {
  return values instanceof Float32Array ? values : new Float32Array();
}

function joined(a: Values | undefined, b: Values | undefined): Float32Array {
  const [first, second] = [floats(a), floats(b)];
  const both = new Float32Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
