import { SpikedError } from '../../client/protocol/errors.js';
import type { Packed } from '../../native/host/index.js';
import { tensorSizeBytes } from '../gguf-header.js';
import type { Packer } from '../packer.js';
import { rowCount, rowLength, type CheckpointTensor } from '../tensor.js';
import type { StoredTensor } from './stored-tensor.js';

const blockBytes = 1 << 20;
const blockRowMultiple = 64; // whole panels, and whole cache lines of a column

const largestF32 = 3.4028234663852886e38;
const largestI4 = 7 * 65504; // the largest code times the largest scale

export interface RowBlock {
  from: number;
  rows: number;
  values: Float32Array;
}

/**
 * Reads checkpoint tensors in blocks of rows and packs them. One block of f32 is held at a time, so that memory does
 * not grow with a tensor; a column-major one, whose columns run through all rows, is gathered up to `columnsBytes` a pass.
 */
export class TensorPacker {
  private scratch = new Float32Array(0);
  private packedMemory = new Uint8Array(0);
  private columnMemory = new Uint8Array(0);

  constructor(
    private readonly path: string,
    private readonly packer: Packer,
    private readonly columnsBytes = 64 << 20,
  ) {}

  /** The data of `stored` in order, each part valid until the next; the scale of each block of rows goes to `onScale`. */
  async *parts(stored: StoredTensor, onScale: (scale: Float32Array) => void): AsyncGenerator<Uint8Array> {
    const { layout } = stored;
    if (isStoredAlike(stored)) {
      yield* this.copy(stored, onScale);
      return;
    }
    if (layout === 'column_major') {
      yield* this.columns(stored, onScale);
      return;
    }
    for await (const block of this.rowBlocks(stored)) {
      if (layout === 'row_major') yield bytesOf(block.values);
      else yield this.pack(stored, block, onScale).data;
    }
  }

  /** Codes as they are: quantising what they stand for would round a second time. */
  private async *copy(
    stored: StoredTensor,
    onScale: (scale: Float32Array) => void,
  ): AsyncGenerator<Uint8Array> {
    const { packed } = stored.tensor.source;
    if (packed === undefined) return;
    // The scales among 4-bit weights are not read at load, as those of I8 are.
    if (packed.dtype === 'i4') await this.check(stored);
    const scale = await packed.scale();
    if (scale !== undefined) onScale(scale);
    yield* packed.data();
  }

  private async check(stored: StoredTensor): Promise<void> {
    const blocks = this.rowBlocks(stored);
    while ((await blocks.next()).done !== true);
  }

  private async *columns(
    stored: StoredTensor,
    onScale: (scale: Float32Array) => void,
  ): AsyncGenerator<Uint8Array> {
    const cols = rowLength(stored.tensor.shape);
    const columnBytes = tensorSizeBytes(stored.data) / cols;
    const atOnce = Math.max(1, Math.floor(this.columnsBytes / columnBytes));
    for (let from = 0; from < cols; from += atOnce) {
      const to = Math.min(cols, from + atOnce);
      // Every pass packs all rows again, and so finds the same scales.
      yield await this.columnRange(stored, from, to, columnBytes, from === 0 ? onScale : () => undefined);
    }
  }

  private async columnRange(
    stored: StoredTensor,
    from: number,
    to: number,
    columnBytes: number,
    onScale: (scale: Float32Array) => void,
  ): Promise<Uint8Array> {
    const cols = rowLength(stored.tensor.shape);
    const sizeBytes = (to - from) * columnBytes;
    if (this.columnMemory.length < sizeBytes) this.columnMemory = new Uint8Array(sizeBytes);
    const range = this.columnMemory.subarray(0, sizeBytes); // every byte of it is written below
    let at = 0; // of this block's rows inside a column
    for await (const block of this.rowBlocks(stored)) {
      const packed = this.pack(stored, block, onScale).data;
      const segmentBytes = packed.length / cols;
      for (let col = from; col < to; col++)
        range.set(
          packed.subarray(col * segmentBytes, (col + 1) * segmentBytes),
          (col - from) * columnBytes + at,
        );
      at += segmentBytes;
    }
    return range;
  }

  private pack(
    { tensor, dtype, layout }: StoredTensor,
    { values, rows }: RowBlock,
    onScale: (scale: Float32Array) => void,
  ): Packed {
    const cols = rowLength(tensor.shape);
    const sizeBytes = this.packer.packedSize(dtype, layout, rows, cols);
    if (this.packedMemory.length < sizeBytes) this.packedMemory = new Uint8Array(sizeBytes);
    const into = this.packedMemory.subarray(0, sizeBytes);
    const packed = this.packer.pack(dtype, layout, values, rows, cols, into);
    if (packed.scale !== null) onScale(packed.scale);
    return packed;
  }

  private async *rowBlocks({ tensor: { source }, dtype }: StoredTensor): AsyncGenerator<RowBlock> {
    const [rows, cols] = [rowCount(source.shape), rowLength(source.shape)];
    const fitting = Math.floor(blockBytes / (4 * cols * blockRowMultiple)) * blockRowMultiple;
    const blockRows = Math.max(blockRowMultiple, fitting);
    for (let from = 0; from < rows; from += blockRows) {
      const to = Math.min(rows, from + blockRows);
      const length = (to - from) * cols;
      if (this.scratch.length < length) this.scratch = new Float32Array(length);
      const values = await source.readRows(from, to, this.scratch);
      this.requireFitting(source, values, from, dtype === 'i4' ? largestI4 : largestF32);
      yield { from, rows: to - from, values };
    }
  }

  private requireFitting(
    { name, shape }: CheckpointTensor,
    values: Float32Array,
    fromRow: number,
    largest: number,
  ): void {
    const at = values.findIndex((value) => !(Math.abs(value) <= largest));
    if (at < 0) return;
    const cols = rowLength(shape);
    const expected =
      largest === largestF32 ? 'finite values' : `values of at most ${largest} for INT4's f16 scales`;
    const place =
      shape.length > 1 ? `[${fromRow + Math.floor(at / cols)}, ${at % cols}]` : `[${fromRow + at}]`;
    throw new SpikedError(
      'ERR_CHECKPOINT_TENSOR',
      `${this.path}: tensor "${name}": expected ${expected}, found ${values[at] ?? NaN} at ${place}`,
    );
  }
}

/** Whether the checkpoint holds the codes that the model file shall hold. F32 has none. */
function isStoredAlike({ tensor, dtype, layout }: StoredTensor): boolean {
  const { packed } = tensor.source;
  return dtype !== 'f32' && packed?.dtype === dtype && packed.layout === layout;
}

export function bytesOf(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
