/** A small valid BitNet model with seeded random weights and a vocabulary of many rows, which a test may bend. */
import type { Draft } from './gguf-draft.js';

export interface WideBitnetOptions {
  seed?: number;
  vocab?: number;
  /** A multiple of 128. */
  dim?: number;
  layers?: number;
  context?: number;
  /** Called on the output's values, [vocab, dim], before they are rounded to F16. */
  rows?: (values: Float32Array, dim: number) => void;
}

/** Marsaglia 2003, xorshift32. */
function random(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** The nearest F16 of a value below 65504, ties to even. */
function f16(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  if (size === Infinity) return sign | 0x7c00;
  const exponent = Math.max(-14, Math.floor(Math.log2(size || 1)));
  const scaled = size / 2 ** (exponent - 10);
  let units = Math.floor(scaled);
  const rest = scaled - units;
  if (rest > 0.5 || (rest === 0.5 && units % 2 === 1)) units += 1;
  // A mantissa that overflows carries into the exponent, as the bits follow each other.
  return sign | ((exponent + 14) * 1024 + units);
}

export function wideBitnet(options: WideBitnetOptions = {}): Draft {
  const { seed = 1, vocab = 300, dim = 128, layers = 1, context = 64, rows } = options;
  const next = random(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  const draft: Draft = { metadata: new Map(), tensors: [] };
  const key = (name: string) => `bitnet-b1.58.${name}`;
  draft.metadata.set('general.architecture', { type: 'string', value: 'bitnet-b1.58' });
  draft.metadata.set('general.name', { type: 'string', value: 'tiny' });
  draft.metadata.set('general.alignment', { type: 'u32', value: 64 });
  for (const [name, value] of Object.entries({
    vocab_size: vocab,
    context_length: context,
    embedding_length: dim,
    block_count: layers,
    feed_forward_length: dim,
    'attention.head_count': dim / 64,
  }))
    draft.metadata.set(key(name), { type: 'u32', value });
  draft.metadata.set(key('attention.layer_norm_rms_epsilon'), { type: 'f32', value: 1e-5 });

  const norm = (name: string) => {
    const data = Float32Array.from({ length: dim }, () => 1 + 0.1 * normal());
    draft.tensors.push({ name, type: 0, dims: [BigInt(dim)], data: Buffer.from(data.buffer) });
  };
  const ternary = (name: string) => {
    const data = Buffer.alloc((dim * dim) / 4 + 32);
    for (let i = 0; i < (dim * dim) / 4; i++)
      data[i] = [0, 2, 4, 6].reduce((byte, shift) => byte | (Math.floor(3 * next()) << shift), 0);
    data.writeFloatLE(0.05, (dim * dim) / 4);
    draft.tensors.push({ name, type: 36, dims: [BigInt(dim), BigInt(dim)], data });
  };
  for (let layer = 0; layer < layers; layer++) {
    for (const name of ['attn_norm', 'attn_sub_norm', 'ffn_norm', 'ffn_sub_norm'])
      norm(`blk.${layer}.${name}.weight`);
    for (const name of ['attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down'])
      ternary(`blk.${layer}.${name}.weight`);
  }
  norm('output_norm.weight');
  // Last, so that a file cut short lacks rows of it and nothing else.
  const values = Float32Array.from({ length: vocab * dim }, normal);
  for (let row = 0; row < vocab; row++) {
    const size = 0.02 * (0.5 + next());
    for (let i = row * dim; i < (row + 1) * dim; i++) values[i] = (values[i] ?? 0) * size;
  }
  rows?.(values, dim);
  const data = Buffer.from(Uint16Array.from(values, f16).buffer);
  draft.tensors.push({ name: 'token_embd.weight', type: 1, dims: [BigInt(dim), BigInt(vocab)], data });
  return draft;
}
