/**
 * An f32 model of which a given INT8 model is the INT8 export: every weight moved by a random part of its rounding step, the row's
 * largest kept. For a model whose f32 checkpoint is not at hand it shows what INT8 rounding does.
 *
 *     node dist/bench/int8-twin.js MODEL.gguf OUT.gguf [SEED]
 */
import { openCheckpoint } from '../export/checkpoint.js';
import { exportCheckpoint } from '../export/export.js';
import { rowLength, type CheckpointTensor } from '../export/tensor.js';
import { addon } from '../native/host/index.js';

const [model, out, seed = '1'] = process.argv.slice(2);
if (model === undefined || out === undefined) throw new Error('expected MODEL.gguf OUT.gguf [SEED]');

const checkpoint = await openCheckpoint(model);
try {
  const tensors = new Map([...checkpoint.tensors].map(([name, tensor], i) => [name, twin(tensor, i)]));
  await exportCheckpoint({ ...checkpoint, tensors }, { out, weights: 'f32', packer: addon() });
} finally {
  await checkpoint.close();
}

function twin(tensor: CheckpointTensor, index: number): CheckpointTensor {
  const { name, dtype, shape } = tensor;
  if (shape.length !== 2 || name.endsWith('text_embedding.weight')) return tensor;
  const readRows = async (from: number, to: number, into?: Float32Array): Promise<Float32Array> => {
    const rows = await tensor.readRows(from, to, into);
    const width = rowLength(shape);
    for (let r = from; r < to; r++)
      unround(rows.subarray((r - from) * width, (r - from + 1) * width), random(index, r));
    return rows;
  };
  return { name, dtype, shape, readRows };
}

/** Adds up to half a step, short of the edge, so that rounding to steps gives the row back. */
function unround(row: Float32Array, next: () => number): void {
  const largest = row.reduce((most, w) => Math.max(most, Math.abs(w)), 0);
  for (let i = 0; i < row.length; i++) {
    const w = row[i] ?? 0;
    if (Math.abs(w) < largest) row[i] = w + ((next() - 0.5) * 0.998 * largest) / 127;
  }
}

/** One generator a row, so that the values do not depend on how the rows are read. */
function random(index: number, row: number): () => number {
  let state = (Math.imul(Number(seed) + 1, 0x9e3779b9) ^ Math.imul(index + 1, 0x85ebca6b) ^ row) >>> 0;
  return () => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
