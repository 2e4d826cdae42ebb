import { SpikedError } from '../../client/protocol/errors.js';
import type { Checkpoint } from '../checkpoint.js';
import { requireReadable, showShape, type CheckpointTensor } from '../tensor.js';
import type { Config } from './config.js';
import { logicalShape } from './stored-tensor.js';

/**
 * What a tensor is to the graph, which decides how it is stored: `vector` stays f32 as it is, `dense` meets continuous
 * inputs, `binary` meets spikes, `mask` can be recomputed and is dropped.
 */
export type Role = 'vector' | 'dense' | 'binary' | 'mask';

export interface ExpectedTensor {
  name: string;
  shape: number[];
  role: Role;
}

/** Exactly the tensors that a configuration needs, in the order of the forward pass. */
export function expectedTensors(config: Config): ExpectedTensor[] {
  const {
    vocab_size: V,
    embed_dim: D,
    intermediate_dim: F,
    n_heads: H,
    head_dim: d,
    max_seq_len: T,
  } = config;
  const tensors: ExpectedTensor[] = [];
  const add = (role: Role, name: string, ...shape: number[]): void =>
    void tensors.push({ name, shape, role });
  const norm = (name: string): void => {
    add('vector', `${name}.weight`, D);
    add('vector', `${name}.bias`, D);
  };

  add('vector', 'spike_encoder.frontend.text_embedding.weight', V, D);
  norm('spike_encoder.norm');
  for (let i = 0; i < config.n_layers; i++) {
    const tcam = `blocks.${i}.tcam`;
    add('binary', `${tcam}.tcam_proj.weight`, D, D);
    add('vector', `${tcam}.decay_raw`, H);
    if (config.enable_sparse_attn) {
      for (const projection of ['q_proj', 'k_proj', 'v_proj'])
        add('dense', `${tcam}.sparse_attn.${projection}.weight`, D, D);
      add('vector', `${tcam}.sparse_attn.rope.inv_freq`, d / 2);
      if (config.form === '0.8b') add('mask', `${tcam}.sparse_attn._cached_mask`, T, T);
    }
    if (config.enable_sparse_attn || config.form === '0.8b') add('vector', `${tcam}.attn_gate`, 1);
    add('dense', `${tcam}.out_proj.weight`, D, D);
    norm(`${tcam}.norm`);
    add('dense', `blocks.${i}.ffn.up.weight`, F, D);
    add('binary', `blocks.${i}.ffn.down.weight`, D, F);
    norm(`blocks.${i}.ffn.norm`);
  }
  add('dense', 'output_head.output_proj.weight', V, D);
  if (config.form === '0.8b') add('vector', 'output_head.prior_weight');
  if (config.enable_dynamic_prior) {
    const prior = Math.floor(D / 4);
    add('dense', 'output_head.prior_net.0.weight', prior, D);
    add('dense', 'output_head.prior_net.2.weight', V, prior);
  } else add('vector', 'output_head.log_prior', V);
  return tensors;
}

export interface SourceTensor extends ExpectedTensor {
  source: CheckpointTensor;
}

/**
 * The expected tensors, each with its place in the checkpoint.
 *
 * @throws SpikedError ERR_CHECKPOINT_TENSOR for a missing, extra or wrongly shaped one, naming it, expected and found
 */
export function matchTensors({ path, tensors, model }: Checkpoint, config: Config): SourceTensor[] {
  const refuse = (name: string, text: string): never => {
    throw new SpikedError('ERR_CHECKPOINT_TENSOR', `${path}: tensor "${name}": ${text}`);
  };
  const expected = expectedTensors(config).filter(({ role }) => role !== 'mask' || model === undefined);
  const matched = expected.map((tensor) => {
    const source = tensors.get(tensor.name);
    const shape = showShape(model === undefined ? tensor.shape : logicalShape(tensor.shape));
    if (source === undefined) return refuse(tensor.name, `expected shape ${shape}, found no such tensor`);
    if (showShape(source.shape) !== shape)
      return refuse(tensor.name, `expected shape ${shape}, found ${showShape(source.shape)}`);
    requireReadable(path, source);
    const wantsBool = tensor.role === 'mask';
    if ((source.dtype === 'bool') !== wantsBool)
      return refuse(
        tensor.name,
        `expected ${wantsBool ? 'bool' : 'f32, f16 or bf16'} elements, found ${source.dtype}`,
      );
    return { ...tensor, source };
  });
  const names = new Set(expected.map(({ name }) => name));
  for (const extra of tensors.values())
    if (!names.has(extra.name))
      refuse(
        extra.name,
        `expected no such tensor in a ${config.form} model, found one of shape ${showShape(extra.shape)}`,
      );
  return matched;
}
