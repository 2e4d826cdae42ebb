/**
 * A GGUF file as an object that a test can bend: an encoder that shares nothing with the exporter or the loader, so that every field,
 * right or wrong, can be written.
 */
export type Meta =
  | { type: 'u32'; value: number }
  | { type: 'f32'; value: number }
  | { type: 'bool'; value: boolean }
  | { type: 'string'; value: string }
  | { type: 'u64[]'; value: number[] }
  | { type: 'u8[]'; value: Uint8Array };

export interface DraftTensor {
  name: string;
  /** ggml number: 0 F32, 24 I8. */
  type: number;
  /** ne0 first. */
  dims: bigint[];
  data: Buffer;
  /** Written instead of the offset that follows from the order. */
  offset?: bigint;
}

export interface Draft {
  metadata: Map<string, Meta>;
  tensors: DraftTensor[];
  magic?: string;
  version?: number;
  tensorCount?: bigint;
  metadataCount?: bigint;
}

const alignment = 64;

function u32(n: number): Buffer {
  const b = Buffer.alloc(4);
  b.writeUInt32LE(n);
  return b;
}

function u64(n: bigint): Buffer {
  const b = Buffer.alloc(8);
  b.writeBigUInt64LE(n);
  return b;
}

function f32(n: number): Buffer {
  const b = Buffer.alloc(4);
  b.writeFloatLE(n);
  return b;
}

function text(s: string): Buffer {
  const b = Buffer.from(s);
  return Buffer.concat([u64(BigInt(b.length)), b]);
}

function encodeMeta(m: Meta): Buffer {
  switch (m.type) {
    case 'u32':
      return Buffer.concat([u32(4), u32(m.value)]);
    case 'f32':
      return Buffer.concat([u32(6), f32(m.value)]);
    case 'bool':
      return Buffer.concat([u32(7), Buffer.from([m.value ? 1 : 0])]);
    case 'string':
      return Buffer.concat([u32(8), text(m.value)]);
    case 'u64[]':
      return Buffer.concat([
        u32(9),
        u32(10),
        u64(BigInt(m.value.length)),
        ...m.value.map((v) => u64(BigInt(v))),
      ]);
    case 'u8[]':
      return Buffer.concat([u32(9), u32(0), u64(BigInt(m.value.length)), m.value]);
  }
}

const padding = (n: number): Buffer => Buffer.alloc((alignment - (n % alignment)) % alignment);

/** The file's bytes. */
export function encode(draft: Draft): Buffer {
  const head: Buffer[] = [
    Buffer.from(draft.magic ?? 'GGUF', 'latin1'),
    u32(draft.version ?? 3),
    u64(draft.tensorCount ?? BigInt(draft.tensors.length)),
    u64(draft.metadataCount ?? BigInt(draft.metadata.size)),
  ];
  for (const [key, value] of draft.metadata) head.push(text(key), encodeMeta(value));
  const body: Buffer[] = [];
  let offset = 0;
  for (const t of draft.tensors) {
    head.push(
      text(t.name),
      u32(t.dims.length),
      ...t.dims.map(u64),
      u32(t.type),
      u64(t.offset ?? BigInt(offset)),
    );
    const pad = padding(t.data.length);
    body.push(t.data, pad);
    offset += t.data.length + pad.length;
  }
  const header = Buffer.concat(head);
  return Buffer.concat([header, padding(header.length), ...body]);
}
