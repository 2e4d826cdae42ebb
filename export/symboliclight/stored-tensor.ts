import type { GgufTensor } from '../gguf-header.js';
import type { WeightLayout } from '../packer.js';
import type { Role, SourceTensor } from './tensors.js';

export type Weights = 'f32' | 'int8';

/** How one checkpoint tensor lies in the model file: its packed data and, for I8, the scales behind it. */
export interface StoredTensor {
  tensor: SourceTensor;
  layout: WeightLayout;
  data: GgufTensor;
  scale: GgufTensor | undefined;
}

const layouts: Record<Exclude<Role, 'mask'>, WeightLayout> = {
  vector: 'row_major',
  dense: 'panel_4x32',
  binary: 'column_major',
};

/** The storage of a tensor in the model file (docs/model-file.md, "Tensors"); undefined for one that is dropped. */
export function storedTensor(tensor: SourceTensor, weights: Weights): StoredTensor | undefined {
  const { name, role, shape } = tensor;
  if (role === 'mask') return undefined;
  const layout = layouts[role];
  if (role === 'vector')
    return {
      tensor,
      layout,
      data: { name, type: 'f32', dims: logicalShape(shape).reverse() },
      scale: undefined,
    };
  const type = weights === 'int8' ? 'i8' : 'f32';
  const [rows = 0, cols = 0] = shape;
  const paddedRows = roundUp(rows, role === 'dense' ? 4 : 64);
  const dims = role === 'dense' ? [roundUp(cols, 32), paddedRows] : [paddedRows, cols];
  const scale: GgufTensor | undefined =
    type === 'i8' ? { name: `${name}.scale`, type: 'f32', dims: [paddedRows] } : undefined;
  return { tensor, layout, data: { name, type, dims }, scale };
}

/** The checkpoint's shape; a scalar counts as one element. */
export function logicalShape(shape: readonly number[]): number[] {
  return shape.length === 0 ? [1] : [...shape];
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}
