/** GGUF v3, little endian: header, metadata, tensor table, padding; the tensors' data follows (docs/model-file.md). */

export const alignmentBytes = 64;
export const ggufMagic = Buffer.from('GGUF', 'latin1');

const version = 3;
const valueTypes = { u8: 0, u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9, u64: 10 } as const;
const tensorTypes = {
  f32: { id: 0, sizeBytes: (n: number) => 4 * n },
  f16: { id: 1, sizeBytes: (n: number) => 2 * n },
  i8: { id: 24, sizeBytes: (n: number) => n },
  // Four codes a byte, then the tensor's scale in 32 bytes.
  i2_s: { id: 36, sizeBytes: (n: number) => n / 4 + 32 },
} as const;

export type GgufValue =
  | { type: 'u32' | 'f32'; value: number }
  | { type: 'bool'; value: boolean }
  | { type: 'string'; value: string }
  | { type: 'u64[]'; value: readonly number[] }
  | { type: 'u8[]'; value: Uint8Array }
  | { type: 'i32[]'; value: Int32Array }
  | { type: 'f32[]'; value: Float32Array }
  | { type: 'string[]'; value: readonly string[] };

export interface GgufTensor {
  name: string;
  type: keyof typeof tensorTypes;
  /** Fastest-varying first. */
  dims: readonly number[];
}

export interface GgufHeader {
  /** Everything before the data section. */
  bytes: Buffer;
  /** Of each tensor's data in the file, in the order given. */
  positions: number[];
  fileSizeBytes: number;
  /** Where a string's text lies in `bytes`, by key. */
  textPositions: Map<string, number>;
}

export function tensorSizeBytes({ type, dims }: GgufTensor): number {
  return tensorTypes[type].sizeBytes(dims.reduce((product, dim) => product * dim, 1));
}

/** @param alignment  of the data and of each tensor; readers take 32 where no `general.alignment` says another */
export function encodeHeader(
  metadata: ReadonlyMap<string, GgufValue>,
  tensors: readonly GgufTensor[],
  alignment = alignmentBytes,
): GgufHeader {
  const out = new ByteBuilder();
  out.bytes(ggufMagic);
  out.u32(version);
  out.u64(tensors.length);
  out.u64(metadata.size);
  const textPositions = new Map<string, number>();
  for (const [key, value] of metadata) {
    out.string(key);
    if (value.type === 'string') textPositions.set(key, out.length + 4 + 8); // behind the type and the text's length
    writeValue(out, value);
  }
  const offsets: number[] = [];
  let dataBytes = 0;
  for (const tensor of tensors) {
    out.string(tensor.name);
    out.u32(tensor.dims.length);
    for (const dim of tensor.dims) out.u64(dim);
    out.u32(tensorTypes[tensor.type].id);
    out.u64(dataBytes);
    offsets.push(dataBytes);
    dataBytes = aligned(dataBytes + tensorSizeBytes(tensor), alignment);
  }
  out.bytes(Buffer.alloc(aligned(out.length, alignment) - out.length));
  const bytes = out.take();
  const positions = offsets.map((offset) => bytes.length + offset);
  return { bytes, positions, fileSizeBytes: bytes.length + dataBytes, textPositions };
}

export function aligned(size: number, alignment = alignmentBytes): number {
  return Math.ceil(size / alignment) * alignment;
}

function writeValue(out: ByteBuilder, value: GgufValue): void {
  switch (value.type) {
    case 'u32':
      out.u32(valueTypes.u32);
      out.u32(value.value);
      break;
    case 'f32':
      out.u32(valueTypes.f32);
      out.f32(value.value);
      break;
    case 'bool':
      out.u32(valueTypes.bool);
      out.bytes(Buffer.from([value.value ? 1 : 0]));
      break;
    case 'string':
      out.u32(valueTypes.string);
      out.string(value.value);
      break;
    case 'u64[]':
      beginArray(out, 'u64', value.value.length);
      for (const element of value.value) out.u64(element);
      break;
    case 'string[]':
      beginArray(out, 'string', value.value.length);
      out.strings(value.value);
      break;
    case 'u8[]':
      beginArray(out, 'u8', value.value.length);
      out.bytes(value.value);
      break;
    case 'i32[]':
      beginArray(out, 'i32', value.value.length);
      out.bytes(bytesOf(value.value));
      break;
    case 'f32[]':
      beginArray(out, 'f32', value.value.length);
      out.bytes(bytesOf(value.value));
  }
}

function beginArray(out: ByteBuilder, element: keyof typeof valueTypes, length: number): void {
  out.u32(valueTypes.array);
  out.u32(valueTypes[element]);
  out.u64(length);
}

function bytesOf({ buffer, byteOffset, byteLength }: Int32Array | Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

class ByteBuilder {
  length = 0;
  private readonly parts: Uint8Array[] = [];

  bytes(bytes: Uint8Array): void {
    this.parts.push(bytes);
    this.length += bytes.length;
  }

  u32(value: number): void {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    this.bytes(bytes);
  }

  u64(value: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    this.bytes(bytes);
  }

  f32(value: number): void {
    const bytes = Buffer.alloc(4);
    bytes.writeFloatLE(value);
    this.bytes(bytes);
  }

  string(text: string): void {
    const bytes = Buffer.from(text, 'utf8');
    this.u64(bytes.length);
    this.bytes(bytes);
  }

  /** In one piece: a vocabulary has hundreds of thousands. */
  strings(texts: readonly string[]): void {
    const bytes = Buffer.alloc(texts.reduce((sum, text) => sum + 8 + Buffer.byteLength(text), 0));
    let at = 0;
    for (const text of texts) {
      const length = bytes.write(text, at + 8);
      at = bytes.writeBigUInt64LE(BigInt(length), at) + length;
    }
    this.bytes(bytes);
  }

  take(): Buffer {
    return Buffer.concat(this.parts);
  }
}
