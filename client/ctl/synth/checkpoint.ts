import type { Checkpoint, CheckpointTensor } from '../../../export/checkpoint.js';
import { rowLength, rowTarget } from '../../../export/tensor.js';
import { synthConfigs, type SynthConfigName } from './configs.js';
import { planTensors, type PlannedTensor } from './plan.js';
import { fillUniform, streamStart } from './random.js';

/**
 * A checkpoint that exists only as a rule: rows are made when the exporter asks for them, so a model of any size
 * needs one block of rows in memory. The same seed gives the same tensors, in whatever blocks they are read.
 */
export function synthCheckpoint(name: SynthConfigName, seed: bigint): Checkpoint {
  const { form, ...config } = synthConfigs[name];
  // What tells the two published forms apart in a checkpoint.
  const formKeys = form === '194m' ? { enable_entropy_exit: false, entropy_exit_threshold: 0.3 } : {};
  const planned = planTensors(synthConfigs[name]);
  return {
    path: `synth ${name}`,
    config: { ...config, ...formKeys, dropout: 0, spike_chunk_size: 64, frontend_mode: 'text' },
    tensors: new Map(planned.map((plan) => [plan.name, synthTensor(plan, seed)])),
    largestStorageBytes: 0,
    close: () => Promise.resolve(),
  };
}

function synthTensor(plan: PlannedTensor, seed: bigint): CheckpointTensor {
  const width = rowLength(plan.shape);
  const uniform = (out: Float32Array, row: number) =>
    fillUniform(out, streamStart(seed, plan.name, row), plan.mean, plan.spread);
  const fillRow = plan.fillRow ?? uniform;
  const tensor: CheckpointTensor = {
    name: plan.name,
    dtype: plan.dtype ?? 'f32',
    shape: plan.shape,
    readRows(from, to, into) {
      const out = rowTarget(tensor, from, to, into);
      for (let row = from; row < to; row++)
        fillRow(out.subarray((row - from) * width, (row - from + 1) * width), row);
      return Promise.resolve(out);
    },
  };
  return tensor;
}
