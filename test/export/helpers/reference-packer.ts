import type { Packer, WeightLayout } from '../../../export/packer.js';
import { i4Dims, placeI4, quantiseI4, roundHalfEven } from '../../tensor/packing.js';

/** docs/model-file.md written out a second time, element by element: what the engine's packer is compared with. */
export const referencePacker: Packer = {
  packedSize(dtype, layout, rows, cols) {
    if (dtype === 'i4') return i4Dims(rows, cols).reduce((product, dim) => product * dim, 1);
    return place(layout, rows, cols).size * (dtype === 'i8' ? 1 : 4);
  },
  pack(dtype, layout, source, rows, cols, into) {
    if (dtype === 'i4') {
      const bytes = placeI4(quantiseI4(source, cols), rows, cols);
      into?.set(bytes);
      return { data: into ?? bytes, scale: null };
    }
    const { size, index, paddedRows } = place(layout, rows, cols, dtype === 'i8' ? 32 : 8);
    const values = dtype === 'i8' ? new Int8Array(size) : new Float32Array(size);
    const scale = dtype === 'i8' ? new Float32Array(paddedRows) : null;
    for (let r = 0; r < rows; r++) {
      const row = source.subarray(r * cols, (r + 1) * cols);
      if (scale !== null) scale[r] = rowScale(row);
      for (let c = 0; c < cols; c++)
        values[index(r, c)] = scale === null ? (row[c] ?? 0) : quantised(row[c] ?? 0, scale[r] ?? 1);
    }
    into?.set(new Uint8Array(values.buffer));
    return { data: into ?? new Uint8Array(values.buffer), scale };
  },
};

export interface Place {
  size: number;
  paddedRows: number;
  index: (row: number, col: number) => number;
}

/** Where element [row, col] lies; `blockCols` columns of one row make 32 bytes. */
export function place(layout: WeightLayout, rows: number, cols: number, blockCols = 32): Place {
  const up = (value: number, multiple: number) => Math.ceil(value / multiple) * multiple;
  if (layout === 'row_major') return { size: rows * cols, paddedRows: rows, index: (r, c) => r * cols + c };
  if (layout === 'column_major') {
    const paddedRows = up(rows, 64);
    return { size: paddedRows * cols, paddedRows, index: (r, c) => c * paddedRows + r };
  }
  const [paddedRows, paddedCols] = [up(rows, 4), up(cols, 32)];
  const index = (r: number, c: number): number =>
    Math.floor(r / 4) * 4 * paddedCols +
    Math.floor(c / blockCols) * 4 * blockCols +
    (r % 4) * blockCols +
    (c % blockCols);
  return { size: paddedRows * paddedCols, paddedRows, index };
}

export function rowScale(row: Float32Array): number {
  const absmax = row.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
  return absmax === 0 ? 1 : Math.fround(absmax / 127);
}

export function quantised(value: number, scale: number): number {
  return Math.max(-127, Math.min(127, roundHalfEven(Math.fround(value / scale))));
}
