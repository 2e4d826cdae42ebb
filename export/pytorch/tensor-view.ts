import {
  dtypeSizeBytes,
  elementCount,
  readUpcast,
  requireReadable,
  rowLength,
  rowTarget,
  upcast,
} from '../tensor.js';
import type { CheckpointTensor } from '../tensor.js';
import type { ArchiveEntry } from './archive-entry.js';
import type { PickleTensor } from './values.js';

/** A strided view of a storage as rows of f32. A contiguous one is read row by row, any other from the whole storage. */
export function tensorView(
  file: string,
  name: string,
  view: PickleTensor,
  entry: ArchiveEntry,
): CheckpointTensor {
  const { shape, offset, storage } = view;
  const { dtype } = storage;
  const elementBytes = dtypeSizeBytes[dtype];
  const isRowMajor = isContiguous(view);
  if (entry.isDeflated || !isRowMajor) entry.reserveAll();
  const tensor: CheckpointTensor = {
    name,
    dtype,
    shape,
    async readRows(from, to, into) {
      requireReadable(file, tensor);
      const out = rowTarget(tensor, from, to, into);
      if (out.length === 0) return out;
      if (isRowMajor) {
        const firstByte = (offset + from * rowLength(shape)) * elementBytes;
        await readUpcast(dtype, out, (target) => entry.readInto(target, firstByte));
      } else {
        await entry.withAll((bytes) => gather(view, bytes, from, out));
      }
      return out;
    },
  };
  return tensor;
}

function isContiguous({ shape, strides }: PickleTensor): boolean {
  if (elementCount(shape) === 0) return true;
  let expected = 1;
  for (let dim = shape.length - 1; dim >= 0; dim--) {
    const size = shape[dim] ?? 1;
    if (size !== 1 && strides[dim] !== expected) return false; // the stride of a dimension of one is never used
    expected *= size;
  }
  return true;
}

function gather(
  { shape, strides, offset, storage }: PickleTensor,
  bytes: Uint8Array,
  fromRow: number,
  out: Float32Array,
): void {
  const elementBytes = dtypeSizeBytes[storage.dtype];
  const index = shape.map(() => 0);
  let element = offset + fromRow * (strides[0] ?? 0);
  for (let i = 0; i < out.length; i++) {
    const at = element * elementBytes;
    upcast(storage.dtype, bytes.subarray(at, at + elementBytes), out.subarray(i, i + 1));
    for (let dim = shape.length - 1; dim >= 0; dim--) {
      const size = shape[dim] ?? 1;
      const stride = strides[dim] ?? 0;
      const next = (index[dim] ?? 0) + 1;
      index[dim] = next === size && dim > 0 ? 0 : next;
      element += next === size && dim > 0 ? -(size - 1) * stride : stride;
      if (next < size || dim === 0) break;
    }
  }
}
