/** A tiny valid BitNet model with seeded random weights, as a draft that tests bend and engine tests run. */
import type { Draft } from './gguf-draft.js';

export interface TinyBitnetOptions {
  architecture?: 'bitnet-b1.58' | 'bitnet-25';
  /** A head of its own, as the first published form has. */
  output?: boolean;
  seed?: number;
  vocab?: number;
  /** A multiple of 128, as `ffn`. */
  dim?: number;
  heads?: number;
  kvHeads?: number;
  layers?: number;
  ffn?: number;
  context?: number;
}

const [f32Type, f16Type, ternaryType] = [0, 1, 36];
const blockWeights = 128;

function random(seed: number): () => number {
  let state = BigInt(seed) + 0x9e3779b97f4a7c15n;
  return () => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    return Number(state >> 33n) / 2 ** 31;
  };
}

/** Codes 0..2 in blocks of 128 weights, four planes a byte, then the scale and 28 bytes that mean nothing. */
function ternary(next: () => number, rows: number, cols: number, scale: number): Buffer {
  const data = Buffer.alloc((rows * cols) / 4 + 32);
  for (let block = 0; block < (rows * cols) / blockWeights; block++)
    for (let i = 0; i < blockWeights; i++) {
      const at = block * 32 + (i % 32);
      const code = Math.floor(next() * 3);
      data[at] = (data[at] ?? 0) | (code << (6 - 2 * Math.floor(i / 32)));
    }
  data.writeFloatLE(scale, (rows * cols) / 4);
  return data;
}

/** Rounded towards zero; normal numbers and zero only. */
function toF16(value: number): number {
  const bits = Buffer.alloc(4);
  bits.writeFloatBE(value);
  const all = bits.readUInt32BE();
  const exponent = ((all >>> 23) & 255) - 127 + 15;
  const sign = (all >>> 16) & 0x8000;
  return exponent <= 0 ? sign : sign | (exponent << 10) | ((all >>> 13) & 1023);
}

/** The draft; `encode` (gguf-draft.ts) makes the file. */
export function tinyBitnet(options: TinyBitnetOptions = {}): Draft {
  const { architecture = 'bitnet-b1.58', vocab = 101, dim = 128, heads = 2, kvHeads = 1 } = options;
  const { layers = 2, ffn = 256, context = 128, output = false } = options;
  const next = random(options.seed ?? 1);
  const draft: Draft = { metadata: new Map(), tensors: [] };
  const add = (name: string, type: number, dims: number[], data: Buffer): void => {
    draft.tensors.push({ name, type, dims: dims.map(BigInt), data });
  };
  const norm = (name: string, n: number): void => {
    add(name, f32Type, [n], Buffer.from(Float32Array.from({ length: n }, () => 0.8 + 0.4 * next()).buffer));
  };
  const table = (name: string): void => {
    const values = Uint16Array.from({ length: vocab * dim }, () => toF16(2 * next() - 1));
    add(name, f16Type, [dim, vocab], Buffer.from(values.buffer));
  };
  const product = (name: string, rows: number, cols: number): void => {
    add(name, ternaryType, [cols, rows], ternary(next, rows, cols, 0.5 + next()));
  };
  draft.metadata.set('general.architecture', { type: 'string', value: architecture });
  draft.metadata.set('general.name', { type: 'string', value: 'tiny' });
  draft.metadata.set('general.alignment', { type: 'u32', value: 64 });
  const numbers = {
    vocab_size: vocab,
    context_length: context,
    embedding_length: dim,
    block_count: layers,
    feed_forward_length: ffn,
    'rope.dimension_count': dim / heads,
    'attention.head_count': heads,
    'attention.head_count_kv': kvHeads,
  };
  for (const [key, value] of Object.entries(numbers))
    draft.metadata.set(`${architecture}.${key}`, { type: 'u32', value });
  draft.metadata.set(`${architecture}.attention.layer_norm_rms_epsilon`, { type: 'f32', value: 1e-5 });
  draft.metadata.set(`${architecture}.rope.freq_base`, { type: 'f32', value: 500000 });
  table('token_embd.weight');
  for (let i = 0; i < layers; i++) {
    const at = `blk.${String(i)}.`;
    norm(`${at}attn_norm.weight`, dim);
    product(`${at}attn_q.weight`, dim, dim);
    product(`${at}attn_k.weight`, (dim / heads) * kvHeads, dim);
    product(`${at}attn_v.weight`, (dim / heads) * kvHeads, dim);
    norm(`${at}attn_sub_norm.weight`, dim);
    product(`${at}attn_output.weight`, dim, dim);
    norm(`${at}ffn_norm.weight`, dim);
    product(`${at}ffn_gate.weight`, ffn, dim);
    product(`${at}ffn_up.weight`, ffn, dim);
    norm(`${at}ffn_sub_norm.weight`, ffn);
    product(`${at}ffn_down.weight`, dim, ffn);
  }
  norm('output_norm.weight', dim);
  if (output) table('output.weight');
  return draft;
}
