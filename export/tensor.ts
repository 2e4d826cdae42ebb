import { SpikedError } from '../client/protocol/errors.js';
import type { WeightDtype, WeightLayout } from './packer.js';

/** Element types a checkpoint may declare. Only the first four can be read; the others are known so that a file
 *  holding them beside the weights (an optimizer's step counter, say) can still be opened. */
export type CheckpointDtype = 'f32' | 'f16' | 'bf16' | 'bool' | 'f64' | 'i64' | 'i32' | 'i16' | 'i8' | 'u8';

export const dtypeSizeBytes: Record<CheckpointDtype, number> = {
  f32: 4, f16: 2, bf16: 2, bool: 1, f64: 8, i64: 8, i32: 4, i16: 2, i8: 1, u8: 1,
}; // prettier-ignore

/** A tensor's bytes as a model file holds them, for a copy that rounds nothing twice. */
export interface PackedForm {
  readonly dtype: WeightDtype;
  readonly layout: WeightLayout;
  /** In order; each part valid until the next. */
  data(): AsyncIterable<Uint8Array>;
  /** Padded like the rows; undefined but for i8. */
  scale(): Promise<Float32Array> | undefined;
}

export interface CheckpointTensor {
  readonly name: string;
  readonly dtype: CheckpointDtype;
  /** [] is a scalar; it has one row of one element. */
  readonly shape: readonly number[];
  /** Only of a tensor that comes from a model file. */
  readonly packed?: PackedForm;
  /**
   * Rows `from` to `to` (not included) of the first dimension, upcast to f32 and contiguous.
   *
   * @param into  memory to fill instead of fresh memory; at least as long as the rows asked for
   * @returns f32 [to - from, product of the other dimensions]; bool gives 0 and 1
   * @throws SpikedError ERR_CHECKPOINT_TENSOR when the element type cannot be read as f32
   * @throws SpikedError ERR_CHECKPOINT_INVALID when the stored bytes do not match their checksum
   */
  readRows(from: number, to: number, into?: Float32Array): Promise<Float32Array>;
}

/** Product of the dimensions, or undefined where it is no exact integer. */
export function elementCount(shape: readonly number[]): number | undefined {
  let count = 1;
  for (const dim of shape) count *= dim;
  return Number.isSafeInteger(count) ? count : undefined;
}

export function rowCount(shape: readonly number[]): number {
  return shape[0] ?? 1;
}

export function rowLength(shape: readonly number[]): number {
  return shape.slice(1).reduce((product, dim) => product * dim, 1);
}

export function showShape(shape: readonly number[]): string {
  return `[${shape.join(', ')}]`;
}

/** The f32 destination for rows [from, to): `into` where given, else fresh memory. */
export function rowTarget(
  tensor: CheckpointTensor,
  from: number,
  to: number,
  into?: Float32Array,
): Float32Array {
  const rows = rowCount(tensor.shape);
  if (!Number.isInteger(from) || !Number.isInteger(to) || from < 0 || from > to || to > rows)
    throw new RangeError(`tensor "${tensor.name}": rows ${from} to ${to} asked for, it has ${rows}`);
  const length = (to - from) * rowLength(tensor.shape);
  if (into === undefined) return new Float32Array(length);
  if (into.length < length)
    throw new RangeError(`tensor "${tensor.name}": target holds ${into.length} of ${length}`);
  return into.subarray(0, length);
}

export function requireReadable(file: string, tensor: { name: string; dtype: CheckpointDtype }): void {
  if (!(tensor.dtype in upcasts))
    throw new SpikedError(
      'ERR_CHECKPOINT_TENSOR',
      `${file}: tensor "${tensor.name}": expected element type f32, f16, bf16 or bool, found ${tensor.dtype}`,
    );
}

/** Fills `out` from little-endian elements that `read` delivers; the type must have passed `requireReadable`. */
export async function readUpcast(
  dtype: CheckpointDtype,
  out: Float32Array,
  read: (target: Uint8Array) => Promise<void>,
): Promise<void> {
  // The stored elements lie at the end of the target's own bytes: widening them in ascending order writes element i
  // below everything that is still to be read, so that no second buffer is needed.
  const bytes = new Uint8Array(out.buffer, out.byteOffset, out.byteLength);
  const stored = bytes.subarray(bytes.length - out.length * dtypeSizeBytes[dtype]);
  await read(stored);
  if (dtype !== 'f32') upcast(dtype, stored, out);
}

/** Writes little-endian `bytes` as f32 to `out`; the type must have passed `requireReadable`. */
export function upcast(dtype: CheckpointDtype, bytes: Uint8Array, out: Float32Array): void {
  upcasts[dtype]?.(bytes, out);
}

const upcasts: Partial<Record<CheckpointDtype, (bytes: Uint8Array, out: Float32Array) => void>> = {
  f32: (bytes, out) => new Uint8Array(out.buffer, out.byteOffset, out.byteLength).set(bytes),
  f16: (bytes, out) => {
    const table = f16Table();
    for (let i = 0; i < out.length; i++) out[i] = table[u16At(bytes, i)] ?? 0;
  },
  bf16: (bytes, out) => {
    const bits = new Uint32Array(out.buffer, out.byteOffset, out.length);
    for (let i = 0; i < bits.length; i++) bits[i] = u16At(bytes, i) << 16;
  },
  bool: (bytes, out) => {
    for (let i = 0; i < out.length; i++) out[i] = bytes[i] === 0 ? 0 : 1;
  },
};

function u16At(bytes: Uint8Array, index: number): number {
  return (bytes[2 * index] ?? 0) | ((bytes[2 * index + 1] ?? 0) << 8);
}

let f16Values: Float32Array | undefined;

function f16Table(): Float32Array {
  if (f16Values !== undefined) return f16Values;
  f16Values = new Float32Array(65536);
  for (let bits = 0; bits < 65536; bits++) {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    const magnitude =
      exponent === 31
        ? fraction === 0 ? Infinity : NaN
        : exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25); // prettier-ignore
    f16Values[bits] = sign * magnitude;
  }
  return f16Values;
}
