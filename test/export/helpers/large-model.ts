import { tinyModel } from './tiny-model.js';
import { f32Bytes, writeTorchFileTo } from './torch-file.js';

const config = {
  vocab_size: 24_576,
  embed_dim: 512,
  n_layers: 7,
  n_heads: 8,
  head_dim: 64,
  intermediate_dim: 2048,
  max_seq_len: 128,
  sparse_attn_window: 64,
  n_global_anchors: 4,
};

export const largestStorageKib = (config.vocab_size * config.embed_dim * 4) / 1024;

/** A checkpoint of some 200 MB whose values repeat every 64 KiB; writing it takes no memory to speak of. */
export function writeLargeModel(path: string, deflate: boolean): void {
  const block = f32Bytes(Float32Array.from({ length: 1 << 14 }, (_, i) => Math.sin(i)));
  function* fill(_name: string, elements: number): Generator<Buffer> {
    for (let left = elements * 4; left > 0; left -= block.length)
      yield block.subarray(0, Math.min(left, block.length));
  }
  writeTorchFileTo(path, { ...tinyModel({ config, fill }), options: { deflate } });
}
