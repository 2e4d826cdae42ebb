/** Pieces of a protocol 2 pickle, for tests that write what Python would, or what an attacker would. */

export const op = (text: string): Buffer => Buffer.from(text, 'latin1');
export const proto = op('\x80\x02');
export const mark = op('(');
export const stop = op('.');

export function str(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  const length = Buffer.alloc(5, 'X', 'latin1');
  length.writeUInt32LE(bytes.length, 1);
  return Buffer.concat([length, bytes]);
}

export function int(value: number): Buffer {
  if (Number.isInteger(value) && value >= 0 && value < 256) return Buffer.from([0x4b, value]);
  const long = Buffer.alloc(10);
  long.write('\x8a\x08', 'latin1');
  long.writeBigInt64LE(BigInt(value), 2);
  return long;
}

export function float(value: number): Buffer {
  const bytes = Buffer.alloc(9, 'G', 'latin1');
  bytes.writeDoubleBE(value, 1);
  return bytes;
}

export const global = (module: string, name: string): Buffer => op(`c${module}\n${name}\n`);
export const tuple = (...items: Buffer[]): Buffer => Buffer.concat([mark, ...items, op('t')]);
export const dict = (...pairs: [Buffer, Buffer][]): Buffer =>
  Buffer.concat([op('}'), mark, ...pairs.flat(), op('u')]);
export const orderedDict = (...pairs: [Buffer, Buffer][]): Buffer =>
  Buffer.concat([global('collections', 'OrderedDict'), op(')R'), mark, ...pairs.flat(), op('u')]);

export function scalar(value: number | boolean | string | null): Buffer {
  if (value === null) return op('N');
  if (typeof value === 'boolean') return op(value ? '\x88' : '\x89');
  if (typeof value === 'string') return str(value);
  return Number.isSafeInteger(value) ? int(value) : float(value);
}

export const storageNames = {
  f32: 'FloatStorage',
  f16: 'HalfStorage',
  bf16: 'BFloat16Storage',
  bool: 'BoolStorage',
  i64: 'LongStorage',
};
export type StorageDtype = keyof typeof storageNames;

export interface TensorSpec {
  dtype: StorageDtype;
  key: string;
  elements: number;
  offset?: number;
  shape: number[];
  strides?: number[];
}

export function tensor({
  dtype,
  key,
  elements,
  offset = 0,
  shape,
  strides = rowMajor(shape),
}: TensorSpec): Buffer {
  const id = tuple(str('storage'), global('torch', storageNames[dtype]), str(key), str('cpu'), int(elements));
  return Buffer.concat([
    global('torch._utils', '_rebuild_tensor_v2'),
    tuple(
      Buffer.concat([id, op('Q')]),
      int(offset),
      tuple(...shape.map(int)),
      tuple(...strides.map(int)),
      op('\x89'),
      Buffer.concat([global('collections', 'OrderedDict'), op(')R')]),
    ),
    op('R'),
  ]);
}

function rowMajor(shape: number[]): number[] {
  return shape.map((_, dim) => shape.slice(dim + 1).reduce((product, size) => product * size, 1));
}
