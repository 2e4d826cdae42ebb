/** The configurations that `synth` can fill with random weights, with a checkpoint's own keys. */
export interface SynthConfig {
  form: '0.8b' | '194m';
  vocab_size: number;
  embed_dim: number;
  n_layers: number;
  n_heads: number;
  head_dim: number;
  intermediate_dim: number;
  max_seq_len: number;
  spike_threshold: number;
  leak_factor: number;
  rope_theta: number;
  sparse_attn_window: number;
  n_global_anchors: number;
  enable_sparse_attn: boolean;
  enable_dynamic_prior: boolean;
}

const common = {
  spike_threshold: 1,
  leak_factor: 0.95,
  rope_theta: 10000,
  n_global_anchors: 4,
  enable_sparse_attn: true,
  enable_dynamic_prior: true,
} as const;

export const synthConfigs = {
  '0.8b': {
    ...common,
    form: '0.8b',
    vocab_size: 57344,
    embed_dim: 1536,
    n_layers: 22,
    n_heads: 24,
    head_dim: 64,
    intermediate_dim: 6144,
    max_seq_len: 512,
    sparse_attn_window: 512,
  },
  '194m': {
    ...common,
    form: '194m',
    vocab_size: 48000,
    embed_dim: 768,
    n_layers: 12,
    n_heads: 12,
    head_dim: 64,
    intermediate_dim: 4096,
    max_seq_len: 2048,
    sparse_attn_window: 256,
  },
  // Window and sizes that fit no tile, so that a quick test meets the edges.
  tiny: {
    ...common,
    form: '0.8b',
    vocab_size: 2048,
    embed_dim: 132,
    n_layers: 2,
    n_heads: 3,
    head_dim: 44,
    intermediate_dim: 410,
    max_seq_len: 1024,
    sparse_attn_window: 16,
  },
} as const satisfies Record<string, SynthConfig>;

export type SynthConfigName = keyof typeof synthConfigs;
export const synthConfigNames = Object.keys(synthConfigs) as SynthConfigName[];
