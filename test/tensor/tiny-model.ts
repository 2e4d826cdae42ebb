/** A tiny valid SymbolicLight model with seeded random weights, as a draft that tests bend and engine tests run. */
import type { Draft, Meta } from './gguf-draft.js';
import { i4Dims, placeColumns, placeI4, placePanel, quantiseI4, quantiseI8, roundUp } from './packing.js';

export interface TinyOptions {
  weights?: 'f32' | 'int8' | 'int4mix';
  /** Stored as f32: the values that the codes of `weights` stand for. */
  dequantised?: boolean;
  layoutPlan?: 'mixed' | 'row' | 'column';
  form?: '0.8b' | '194m';
  seed?: number;
  vocab?: number;
  dim?: number;
  heads?: number;
  layers?: number;
  ffn?: number;
  context?: number;
  window?: number;
  anchors?: number;
  sparseAttn?: boolean;
  dynamicPrior?: boolean;
  tokenizer?: Uint8Array;
  tokenizerSize?: number;
}

/** mulberry32: enough randomness for weights. */
function random(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

class Builder {
  readonly draft: Draft = { metadata: new Map(), tensors: [] };
  private readonly next: () => number;

  constructor(
    private readonly weights: 'f32' | 'int8' | 'int4mix',
    private readonly options: TinyOptions,
  ) {
    this.next = random(options.seed ?? 1);
  }

  set(key: string, value: Meta): void {
    this.draft.metadata.set(key, value);
  }

  /** Roughly normal, by the sum of uniforms. */
  values(n: number, mean: number, deviation: number): Float32Array {
    return Float32Array.from({ length: n }, () => {
      const sum = this.next() + this.next() + this.next() + this.next() - 2;
      return mean + deviation * sum * Math.sqrt(3);
    });
  }

  vector(name: string, values: Float32Array, shape: number[] = [values.length]): void {
    this.describe(name, 'row_major', shape);
    this.add(name, 0, [...shape].reverse(), Buffer.from(values.buffer));
  }

  linear(name: string, rows: number, cols: number, binaryInput: boolean, deviation: number): void {
    const w = this.values(rows * cols, 0, deviation);
    const type = this.weights === 'f32' ? 'f32' : this.weights === 'int4mix' && !binaryInput ? 'i4' : 'i8';
    const quantised = type === 'f32' ? undefined : (type === 'i4' ? quantiseI4 : quantiseI8)(w, cols);
    const { layoutPlan = 'mixed', dequantised = false } = this.options;
    const byColumn = layoutPlan === 'mixed' ? binaryInput : layoutPlan === 'column';
    const place = byColumn ? placeColumns : placePanel;
    const dims = byColumn ? [roundUp(rows, 64), cols] : [roundUp(cols, 32), roundUp(rows, 4)];
    if (quantised !== undefined && !dequantised && type === 'i4') {
      this.describe(name, 'panel_4x32_i4', [rows, cols]);
      this.set(`symboliclight.scale_shape.${name}`, { type: 'u64[]', value: [rows, Math.ceil(cols / 32)] });
      this.add(name, 24, i4Dims(rows, cols), placeI4(quantised, rows, cols));
      return;
    }
    this.describe(name, byColumn ? 'column_major' : 'panel_4x32', [rows, cols]);
    if (quantised === undefined || dequantised) {
      this.add(name, 0, dims, place(quantised?.values ?? w, rows, cols));
      return;
    }
    const scale = new Float32Array(roundUp(rows, byColumn ? 64 : 4));
    scale.set(quantised.scale);
    this.add(name, 24, dims, place(quantised.codes, rows, cols));
    this.set(`symboliclight.scale_shape.${name}`, { type: 'u64[]', value: [rows] });
    this.add(`${name}.scale`, 0, [scale.length], Buffer.from(scale.buffer));
  }

  norm(name: string, dim: number): void {
    this.vector(`${name}.weight`, this.values(dim, 0.75, 0.05));
    this.vector(`${name}.bias`, this.values(dim, 0, 0.02));
  }

  private describe(name: string, layout: string, shape: number[]): void {
    this.set(`symboliclight.layout.${name}`, { type: 'string', value: layout });
    this.set(`symboliclight.shape.${name}`, { type: 'u64[]', value: shape });
  }

  private add(name: string, type: number, dims: number[], data: Buffer): void {
    this.draft.tensors.push({ name, type, dims: dims.map(BigInt), data });
  }
}

/** The draft; `encode` (gguf-draft.ts) makes the file. About 10 % of its neurons fire. */
export function tinyModel(options: TinyOptions = {}): Draft {
  const { weights = 'f32', form = '0.8b', vocab = 96, dim = 24, heads = 2, layers = 2, ffn = 40 } = options;
  const { sparseAttn = true, dynamicPrior = true, context = 64, window = 16, anchors = 2 } = options;
  const b = new Builder(weights, options);
  const own = (key: string, value: Meta): void => {
    b.set(`symboliclight.${key}`, value);
  };
  b.set('general.architecture', { type: 'string', value: 'symboliclight' });
  b.set('general.name', { type: 'string', value: 'tiny' });
  b.set('general.alignment', { type: 'u32', value: 64 });
  own('format_version', { type: 'u32', value: 1 });
  own('form', { type: 'string', value: form });
  own('weights', { type: 'string', value: options.dequantised ? 'f32' : weights });
  if (options.layoutPlan !== undefined) own('layout_plan', { type: 'string', value: options.layoutPlan });
  const sizes = {
    vocab_size: vocab,
    tokenizer_size: options.tokenizerSize ?? vocab,
    embed_dim: dim,
    n_layers: layers,
    n_heads: heads,
    head_dim: dim / heads,
    intermediate_dim: ffn,
    max_seq_len: context,
    sparse_attn_window: window,
    n_global_anchors: anchors,
  };
  for (const [key, value] of Object.entries(sizes)) own(key, { type: 'u32', value });
  own('spike_threshold', { type: 'f32', value: 1 });
  own('leak_factor', { type: 'f32', value: 0.95 });
  own('enable_sparse_attn', { type: 'bool', value: sparseAttn });
  own('enable_dynamic_prior', { type: 'bool', value: dynamicPrior });
  own('data_sha256', { type: 'string', value: '0'.repeat(64) });
  if (options.tokenizer !== undefined)
    b.set('tokenizer.sentencepiece.model', { type: 'u8[]', value: options.tokenizer });

  b.vector('spike_encoder.frontend.text_embedding.weight', b.values(vocab * dim, 0, 1), [vocab, dim]);
  b.norm('spike_encoder.norm', dim);
  for (let i = 0; i < layers; i++) addBlock(b, `blocks.${i}`, dim, heads, ffn, form, sparseAttn);
  b.linear('output_head.output_proj.weight', vocab, dim, false, 0.5);
  if (form === '0.8b') b.vector('output_head.prior_weight', Float32Array.of(0.3));
  const prior = Math.floor(dim / 4);
  if (dynamicPrior) {
    b.linear('output_head.prior_net.0.weight', prior, dim, false, 0.5);
    b.linear('output_head.prior_net.2.weight', vocab, prior, false, 0.5);
  } else b.vector('output_head.log_prior', b.values(vocab, -4, 1));
  return b.draft;
}

function addBlock(
  b: Builder,
  prefix: string,
  dim: number,
  heads: number,
  ffn: number,
  form: string,
  sparseAttn: boolean,
): void {
  b.linear(`${prefix}.tcam.tcam_proj.weight`, dim, dim, true, 0.5);
  b.linear(`${prefix}.tcam.out_proj.weight`, dim, dim, false, 0.3);
  b.norm(`${prefix}.tcam.norm`, dim);
  b.vector(`${prefix}.tcam.decay_raw`, b.values(heads, 1, 0.5));
  if (sparseAttn || form === '0.8b') b.vector(`${prefix}.tcam.attn_gate`, Float32Array.of(0.2));
  if (sparseAttn) {
    for (const p of ['q', 'k', 'v'])
      b.linear(`${prefix}.tcam.sparse_attn.${p}_proj.weight`, dim, dim, false, 0.3);
    const half = dim / heads / 2;
    const freq = Float32Array.from({ length: half }, (_, j) => 10000 ** (-j / half));
    b.vector(`${prefix}.tcam.sparse_attn.rope.inv_freq`, freq);
  }
  b.linear(`${prefix}.ffn.up.weight`, ffn, dim, false, 1 / Math.sqrt(dim));
  b.linear(`${prefix}.ffn.down.weight`, dim, ffn, true, 0.3);
  b.norm(`${prefix}.ffn.norm`, dim);
}
