import type { SynthConfig } from './configs.js';

/** How one tensor is filled: uniform around `mean`, or row by row with values of its own. */
export interface PlannedTensor {
  name: string;
  shape: number[];
  mean: number;
  spread: number;
  dtype?: 'bool';
  fillRow?: (out: Float32Array, row: number) => void;
}

// Gains and deviations below make about one neuron in eleven fire. A layer norm's output is close to normal, so with
// threshold 1 a gain of 0.746 leaves 9 % above it; the encoder's membrane adds up, which takes another gain.
const firingDeviation = 0.746;
const encoderGain = 0.85;
const firingShare = 0.09;

/** The tensors of a checkpoint with this configuration, with the distribution of each. */
export function planTensors(config: SynthConfig): PlannedTensor[] {
  const { vocab_size: V, embed_dim: D } = config;
  const prior = Math.floor(D / 4);
  const theta = config.spike_threshold;
  const tensors: PlannedTensor[] = [
    weight('spike_encoder.frontend.text_embedding.weight', [V, D], 1),
    ...norm('spike_encoder.norm', D, encoderGain * theta),
  ];
  for (let layer = 0; layer < config.n_layers; layer++) tensors.push(...planBlock(config, `blocks.${layer}`));
  tensors.push(
    weight('output_head.output_proj.weight', [V, D], 2 / (firingDeviation * theta * Math.sqrt(D))),
  );
  if (config.form === '0.8b') tensors.push(constant('output_head.prior_weight', [], 0.1));
  if (config.enable_dynamic_prior)
    tensors.push(
      weight('output_head.prior_net.0.weight', [prior, D], 1 / (firingDeviation * theta * Math.sqrt(D))),
      weight('output_head.prior_net.2.weight', [V, prior], 1 / Math.sqrt(prior)),
    );
  else tensors.push({ name: 'output_head.log_prior', shape: [V], mean: -Math.log(V), spread: 1 });
  return tensors;
}

function planBlock(config: SynthConfig, block: string): PlannedTensor[] {
  const { embed_dim: D, intermediate_dim: F, n_heads: H, spike_threshold: theta } = config;
  const streamDeviation = firingDeviation * theta;
  const perInput = 1 / (streamDeviation * Math.sqrt(D));
  const attention = `${block}.tcam.sparse_attn`;
  return [
    weight(`${block}.tcam.tcam_proj.weight`, [D, D], 1 / Math.sqrt(firingShare * D)),
    weight(`${block}.tcam.out_proj.weight`, [D, D], 1 / Math.sqrt(D)),
    ...norm(`${block}.tcam.norm`, D, 1),
    { name: `${block}.tcam.decay_raw`, shape: [H], mean: 1, spread: 1.5 },
    ...(config.enable_sparse_attn || config.form === '0.8b'
      ? [constant(`${block}.tcam.attn_gate`, [1], 0)]
      : []),
    ...(config.enable_sparse_attn
      ? [
          weight(`${attention}.q_proj.weight`, [D, D], perInput),
          weight(`${attention}.k_proj.weight`, [D, D], perInput),
          weight(`${attention}.v_proj.weight`, [D, D], perInput),
          frequencies(`${attention}.rope.inv_freq`, config),
          ...(config.form === '0.8b' ? [mask(`${attention}._cached_mask`, config)] : []),
        ]
      : []),
    weight(`${block}.ffn.up.weight`, [F, D], streamDeviation / Math.sqrt(D)),
    weight(`${block}.ffn.down.weight`, [D, F], 0.7 / Math.sqrt(firingShare * F)),
    ...norm(`${block}.ffn.norm`, D, streamDeviation),
  ];
}

function weight(name: string, shape: number[], deviation: number): PlannedTensor {
  return { name, shape, mean: 0, spread: deviation * Math.sqrt(3) };
}

function norm(name: string, dim: number, gain: number): PlannedTensor[] {
  return [
    { name: `${name}.weight`, shape: [dim], mean: gain, spread: 0.05 * gain },
    { name: `${name}.bias`, shape: [dim], mean: 0, spread: 0.02 },
  ];
}

function constant(name: string, shape: number[], value: number): PlannedTensor {
  return { name, shape, mean: value, spread: 0 };
}

function frequencies(name: string, { head_dim: headDim, rope_theta: theta }: SynthConfig): PlannedTensor {
  const fillRow = (out: Float32Array, j: number) => void (out[0] = theta ** ((-2 * j) / headDim));
  return { name, shape: [headDim / 2], mean: 0, spread: 0, fillRow };
}

/** Which key a query may see: those within the window, and the anchors. */
function mask(name: string, config: SynthConfig): PlannedTensor {
  const { max_seq_len: size, sparse_attn_window: window, n_global_anchors: anchors } = config;
  const fillRow = (out: Float32Array, query: number) => {
    for (let key = 0; key < size; key++)
      out[key] = key <= query && (query - key <= window || key < anchors) ? 1 : 0;
  };
  return { name, shape: [size, size], mean: 0, spread: 0, dtype: 'bool', fillRow };
}
