import { gguf } from '@huggingface/gguf';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { WeightLayout } from '../../../export/packer.js';
import { assert } from '../../tools/suite.js';
import { placeI4, readI4 } from '../../tensor/packing.js';
import { place } from './reference-packer.js';

export interface FileTensor {
  type: 'f32' | 'i8';
  dims: number[];
  position: number;
  bytes: Buffer;
}

/** A model file as another project's GGUF reader sees it. */
export interface ModelFile {
  metadata: Record<string, unknown>;
  tensors: Map<string, FileTensor>;
  bytes: Buffer;
  dataPosition: number;
}

const types = new Map<number, 'f32' | 'i8'>([
  [0, 'f32'],
  [24, 'i8'],
]);

export async function readModelFile(path: string): Promise<ModelFile> {
  const bytes = readFileSync(path);
  const { metadata, tensorInfos, tensorDataOffset } = await gguf(path, { allowLocalFile: true });
  const dataPosition = Number(tensorDataOffset);
  const tensors = new Map<string, FileTensor>();
  for (const { name, dtype, shape, offset } of tensorInfos) {
    const type = types.get(dtype);
    assert.ok(type, `${name}: type ${dtype}`);
    const dims = shape.map(Number);
    const size = dims.reduce((product, dim) => product * dim, type === 'f32' ? 4 : 1);
    const position = dataPosition + Number(offset);
    assert.ok(position + size <= bytes.length, name);
    tensors.set(name, { type, dims, position, bytes: bytes.subarray(position, position + size) });
  }
  return { metadata: metadata as unknown as Record<string, unknown>, tensors, bytes, dataPosition };
}

/** What the format asks of any file: places, padding, hash. */
export function checkContainer({ metadata, tensors, bytes, dataPosition }: ModelFile): void {
  assert.is(bytes.toString('latin1', 0, 4), 'GGUF');
  assert.is(bytes.readUInt32LE(4), 3);
  assert.is(dataPosition % 64, 0);
  assert.is(bytes.length % 64, 0);
  let end = dataPosition;
  for (const [name, { position, bytes: data }] of tensors) {
    assert.is(position % 64, 0, name);
    assert.ok(position >= end && position - end < 64, `${name} lies behind the one before`);
    assert.ok(
      bytes.subarray(end, position).every((byte) => byte === 0),
      `zeros before ${name}`,
    );
    end = position + data.length;
  }
  assert.is(bytes.length, Math.ceil(end / 64) * 64);
  const digest = createHash('sha256').update(bytes.subarray(dataPosition)).digest('hex');
  assert.is(metadata['symboliclight.data_sha256'], digest);
}

export interface Unpacked {
  values: Float32Array;
  scale: Float32Array | undefined;
}

/** A tensor's logical values (for I8 the integers, for 4-bit panels the products) and scale by its declared layout and shape; padding must be zero. */
export function unpack({ metadata, tensors }: ModelFile, name: string): Unpacked {
  const tensor = tensors.get(name);
  assert.ok(tensor, name);
  const shape = (metadata[`symboliclight.shape.${name}`] as bigint[]).map(Number);
  const layout = metadata[`symboliclight.layout.${name}`] as WeightLayout;
  const [rows, cols] = shape.length === 1 ? [1, shape[0] ?? 0] : [shape[0] ?? 0, shape[1] ?? 0];
  if (layout === 'panel_4x32_i4') {
    const found = readI4(tensor.bytes, rows, cols);
    assert.ok(tensor.bytes.equals(placeI4(found, rows, cols)), `${name}: padding`);
    const groups = [rows, Math.ceil(cols / 32)];
    assert.equal((metadata[`symboliclight.scale_shape.${name}`] as bigint[]).map(Number), groups, name);
    return { values: found.values, scale: undefined };
  }
  const { size, index, paddedRows } = place(layout, rows, cols, tensor.type === 'i8' ? 32 : 8);
  const raw = tensor.type === 'i8' ? Int8Array.from(tensor.bytes) : floats(tensor.bytes);
  assert.is(raw.length, size, name);
  const values = new Float32Array(rows * cols);
  const rest = raw.slice();
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < cols; c++) {
      values[r * cols + c] = raw[index(r, c)] ?? NaN;
      rest[index(r, c)] = 0;
    }
  assert.ok(
    rest.every((value) => value === 0),
    `${name}: padding`,
  );
  if (tensor.type === 'f32') return { values, scale: undefined };
  assert.equal((metadata[`symboliclight.scale_shape.${name}`] as bigint[]).map(Number), [rows], name);
  const scale = tensors.get(`${name}.scale`);
  assert.ok(scale?.type === 'f32', `${name}.scale`);
  assert.equal(scale.dims, [paddedRows]);
  const scales = floats(scale.bytes);
  assert.ok(
    scales.subarray(rows).every((value) => value === 0),
    `${name}.scale: padding`,
  );
  return { values, scale: scales.slice(0, rows) };
}

function floats(bytes: Buffer): Float32Array {
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}
