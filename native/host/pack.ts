import { addon } from './addon.js';
import type { Packed, WeightDtype, WeightLayout } from './addon-types.js';

/**
 * Quantises and packs a row-major block of rows, as docs/model-file.md says: the engine's own code, so that there is one.
 *
 * A `panel_4x32` matrix may go through in blocks whose row counts are multiples of 4 (the last one excepted).
 *
 * @param into  of packedSize bytes, at a multiple of 4: becomes the result's data instead of fresh memory
 * @throws SpikedError ERR_CHECKPOINT_TENSOR when a value is not finite
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
