import type { GgufTensor } from '../gguf-header.js';
import { storageOf, type Storage, type StoragePlan } from './storage-plan.js';
import type { SourceTensor } from './tensors.js';

/** How one checkpoint tensor lies in the model file: its packed data and, for I8, the scales behind it. */
export interface StoredTensor extends Storage {
  tensor: SourceTensor;
  data: GgufTensor;
  scale: GgufTensor | undefined;
  /** Logical: [out], or [out, groups of inputs]; undefined where nothing is scaled. */
  scaleShape: number[] | undefined;
}

/** The storage of a tensor in the model file (docs/model-file.md, "Tensors"); undefined for one that is dropped. */
export function storedTensor(tensor: SourceTensor, plan: StoragePlan): StoredTensor | undefined {
  const { name, role, shape } = tensor;
  if (role === 'mask') return undefined;
  const storage = storageOf(role, plan);
  const { dtype } = storage;
  const [rows = 0, cols = 0] = shape;
  const dims = packedDims(storage, shape);
  const scale: GgufTensor | undefined =
    dtype === 'i8' ? { name: `${name}.scale`, type: 'f32', dims: [paddedRows(storage, rows)] } : undefined;
  return {
    ...storage,
    tensor,
    data: { name, type: dtype === 'f32' ? 'f32' : 'i8', dims },
    scale,
    scaleShape: { f32: undefined, i8: [rows], i4: [rows, Math.ceil(cols / 32)] }[dtype],
  };
}

/** GGUF's dims, the fastest first; for 4-bit panels [bytes of a panel, panels]. */
function packedDims(storage: Storage, shape: readonly number[]): number[] {
  const [rows = 0, cols = 0] = shape;
  switch (storage.layout) {
    case 'row_major':
      return logicalShape(shape).reverse();
    case 'panel_4x32':
      return [roundUp(cols, 32), paddedRows(storage, rows)];
    case 'column_major':
      return [paddedRows(storage, rows), cols];
    case 'panel_4x32_i4': {
      const groups = Math.ceil(cols / 32);
      return [64 * (groups + Math.ceil(groups / 8)), paddedRows(storage, rows) / 4];
    }
  }
}

function paddedRows({ layout }: Storage, rows: number): number {
  return roundUp(rows, layout === 'column_major' ? 64 : 4);
}

/** The checkpoint's shape; a scalar counts as one element. */
export function logicalShape(shape: readonly number[]): number[] {
  return shape.length === 0 ? [1] : [...shape];
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}
