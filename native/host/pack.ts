import { addon } from './addon.js';
import type { Packed, WeightDtype, WeightLayout } from './addon-types.js';

/**
 * Quantises and packs a row-major block of rows, as docs/model-file.md says: the engine's own code, so that there is one.
 *
 * A matrix in panels may go through in blocks whose row counts are multiples of 4 (the last one excepted).
 *
 * @param into  of packedSize bytes, at a multiple of 4: becomes the result's data instead of fresh memory
 * @throws SpikedError ERR_CHECKPOINT_TENSOR when a value is not finite, or too large for the f16 scale of i4
 */
export function pack(
  dtype: WeightDtype,
  layout: WeightLayout,
  source: Float32Array,
  rows: number,
  cols: number,
  into?: Uint8Array,
): Packed {
  return addon().pack(dtype, layout, source, rows, cols, into);
}

/** Bytes that pack gives for rows x cols, without the scale. */
export function packedSize(dtype: WeightDtype, layout: WeightLayout, rows: number, cols: number): number {
  return addon().packedSize(dtype, layout, rows, cols);
}

/** A packed matrix [rows, cols], or a block of whole panels of one. */
export interface PackedMatrix {
  dtype: WeightDtype;
  layout: WeightLayout;
  rows: number;
  cols: number;
  /** packedSize bytes, at a multiple of 4. */
  data: Uint8Array;
  /** Padded like the rows; null but for i8. */
  scale: Float32Array | null;
}

/**
 * Rows `from` to `to` (not included) of a packed matrix as the values it stands for: those stored, or f32(code * scale).
 *
 * @param into  f32 of (to - from) * cols values, filled and returned
 * @throws SpikedError ERR_INVALID_ARGUMENT
 */
export function unpackRows(
  { dtype, layout, rows, cols, data, scale }: PackedMatrix,
  from: number,
  to: number,
  into: Float32Array,
): Float32Array {
  return addon().unpackRows(dtype, layout, data, scale, rows, cols, from, to, into);
}
