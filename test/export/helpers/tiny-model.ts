import type { StorageDtype, TensorSpec } from './pickle.js';
import { Random } from './random.js';
import { f32Bytes, type ConfigSpec, type TorchFileSpec } from './torch-file.js';

export interface TinyOptions {
  form?: '0.8b' | '194m';
  dtype?: 'f32' | 'bf16';
  config?: ConfigSpec;
  seed?: number;
  /** A chunk of f32 bytes for `elements` values of a tensor; random by default. */
  fill?: (name: string, elements: number) => Iterable<Buffer>;
}

/** No size is a multiple of a panel, a block or a cache line, and no two alike. */
export const tinyConfig = {
  vocab_size: 37,
  embed_dim: 12,
  n_layers: 2,
  n_heads: 2,
  head_dim: 6,
  intermediate_dim: 70,
  max_seq_len: 9,
  spike_threshold: 1.0,
  leak_factor: 0.95,
  rope_theta: 10000.0,
  frontend_mode: 'text',
  sparse_attn_window: 3,
  n_global_anchors: 1,
  enable_sparse_attn: true,
  enable_dynamic_prior: true,
};

export interface TinyModel extends TorchFileSpec {
  tensors: [string, TensorSpec][];
  storages: Map<string, Iterable<Buffer>>;
}

/** A checkpoint of either published form, its tensors written out as the release has them. */
export function tinyModel({
  form = '0.8b',
  dtype = 'f32',
  config = {},
  seed = 1,
  fill,
}: TinyOptions = {}): TinyModel {
  const entropy = form === '194m' ? { enable_entropy_exit: false, entropy_exit_threshold: 0.3 } : {};
  const full = { ...tinyConfig, ...entropy, ...config };
  const {
    vocab_size: V,
    embed_dim: D,
    intermediate_dim: F,
    n_heads: H,
    head_dim: d,
    max_seq_len: T,
  } = full as typeof tinyConfig;
  const random = new Random(seed);
  const model: TinyModel = { config: full, tensors: [], storages: new Map() };
  const store = (name: string, type: StorageDtype, shape: number[], chunks: Iterable<Buffer>): void => {
    const key = String(model.tensors.length);
    const elements = shape.reduce((product, size) => product * size, 1);
    model.tensors.push([name, { dtype: type, key, elements, shape }]);
    model.storages.set(key, chunks);
  };
  const weight = (name: string, ...shape: number[]): void => {
    const elements = shape.reduce((product, size) => product * size, 1);
    const chunks = fill?.(name, elements) ?? [
      f32Bytes(Float32Array.from({ length: elements }, () => (random.below(20001) - 10000) / 7000)),
    ];
    store(name, dtype, shape, dtype === 'f32' ? chunks : halves(chunks));
  };
  const norm = (name: string): void => {
    weight(`${name}.weight`, D);
    weight(`${name}.bias`, D);
  };

  weight('spike_encoder.frontend.text_embedding.weight', V, D);
  norm('spike_encoder.norm');
  for (let i = 0; i < full.n_layers; i++) {
    weight(`blocks.${i}.tcam.decay_raw`, H);
    if (full.enable_sparse_attn || form === '0.8b') weight(`blocks.${i}.tcam.attn_gate`, 1);
    weight(`blocks.${i}.tcam.tcam_proj.weight`, D, D);
    weight(`blocks.${i}.tcam.out_proj.weight`, D, D);
    norm(`blocks.${i}.tcam.norm`);
    if (full.enable_sparse_attn) {
      if (form === '0.8b') store(`blocks.${i}.tcam.sparse_attn._cached_mask`, 'bool', [T, T], [mask(full)]);
      for (const letter of 'qkv') weight(`blocks.${i}.tcam.sparse_attn.${letter}_proj.weight`, D, D);
      weight(`blocks.${i}.tcam.sparse_attn.rope.inv_freq`, d / 2);
    }
    weight(`blocks.${i}.ffn.up.weight`, F, D);
    weight(`blocks.${i}.ffn.down.weight`, D, F);
    norm(`blocks.${i}.ffn.norm`);
  }
  if (form === '0.8b') weight('output_head.prior_weight');
  weight('output_head.output_proj.weight', V, D);
  if (full.enable_dynamic_prior) {
    weight('output_head.prior_net.0.weight', D / 4, D);
    weight('output_head.prior_net.2.weight', V, D / 4);
  } else weight('output_head.log_prior', V);
  return model;
}

function mask({ max_seq_len: T, sparse_attn_window: W, n_global_anchors: G }: typeof tinyConfig): Buffer {
  const bytes = Buffer.alloc(T * T);
  for (let t = 0; t < T; t++)
    for (let j = 0; j <= t; j++) bytes[t * T + j] = t - j <= Math.max(1, W) || j < G ? 1 : 0;
  return bytes;
}

/** The upper halves of f32 values: their bf16, rounded toward zero. */
function* halves(chunks: Iterable<Buffer>): Iterable<Buffer> {
  for (const chunk of chunks) {
    const half = Buffer.alloc(chunk.length / 2);
    for (let i = 0; i < half.length; i += 2) half.writeUInt16LE(chunk.readUInt16LE(2 * i + 2), i);
    yield half;
  }
}
