import type { CheckpointContents } from './checkpoint.js';
import type { InputFile } from './input-file.js';
import {
  dtypeSizeBytes,
  elementCount,
  requireReadable,
  readUpcast,
  rowLength,
  rowTarget,
  showShape,
} from './tensor.js';
import type { CheckpointDtype, CheckpointTensor } from './tensor.js';

// File: u64 header length, that many bytes of JSON, then the tensors' bytes without gaps.
const lengthBytes = 8;
const maxHeaderBytes = 100_000_000; // the format's own limit
const maxDims = 8;

const dtypes = new Map<unknown, CheckpointDtype>([
  ['F32', 'f32'], ['F16', 'f16'], ['BF16', 'bf16'], ['BOOL', 'bool'], ['F64', 'f64'],
  ['I64', 'i64'], ['I32', 'i32'], ['I16', 'i16'], ['I8', 'i8'], ['U8', 'u8'],
]); // prettier-ignore

/** Where a tensor's elements lie: bytes `begin` to `end` of the file. */
export interface SafetensorsEntry {
  name: string;
  dtype: CheckpointDtype;
  shape: number[];
  begin: number;
  end: number;
}

export async function readSafetensors(file: InputFile): Promise<CheckpointContents> {
  const entries = await readSafetensorsEntries(file);
  return {
    config: undefined,
    tensors: entries.map((entry) => [entry.name, tensorOf(file, entry)] as const),
    largestStorageBytes: entries.reduce((largest, { begin, end }) => Math.max(largest, end - begin), 0),
  };
}

/** What a file says beside its tensors, and their checked table in the header's order. */
export interface SafetensorsHeader {
  metadata: ReadonlyMap<string, string>;
  entries: SafetensorsEntry[];
}

/** The checked table of a file's tensors, in the header's order. */
export async function readSafetensorsEntries(file: InputFile): Promise<SafetensorsEntry[]> {
  return (await readSafetensorsHeader(file)).entries;
}

/** @throws SpikedError ERR_CHECKPOINT_INVALID, ERR_FILE_IO */
export async function readSafetensorsHeader(file: InputFile): Promise<SafetensorsHeader> {
  const length = (await file.read(0, lengthBytes)).readBigUInt64LE();
  const available = Math.min(maxHeaderBytes, file.sizeBytes - lengthBytes);
  if (length > BigInt(available))
    throw file.invalid(`expected a header of at most ${available} bytes, found ${length}`);
  const header = parseHeader(file, await file.read(lengthBytes, Number(length)));
  const dataStart = lengthBytes + Number(length);
  const entries: SafetensorsEntry[] = [];
  let metadata: ReadonlyMap<string, string> = new Map();
  for (const [name, value] of Object.entries(header)) {
    if (name === '__metadata__') metadata = parseMetadata(file, value);
    else entries.push(parseEntry(file, name, value));
  }
  checkCoverage(file, entries, file.sizeBytes - dataStart);
  const inFile = entries.map((entry) => ({
    ...entry,
    begin: dataStart + entry.begin,
    end: dataStart + entry.end,
  }));
  return { metadata, entries: inFile };
}

function parseHeader(file: InputFile, bytes: Buffer): Record<string, unknown> {
  try {
    // The file was recognised by the header's opening brace, so that what parses is an object.
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as Record<string, unknown>;
  } catch (error) {
    throw file.invalid(`expected a header of JSON, found ${(error as Error).message}`);
  }
}

function parseMetadata(file: InputFile, value: unknown): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const [key, text] of isRecord(value) ? Object.entries(value) : [['', value] as const]) {
    if (typeof text !== 'string')
      throw file.invalid('"__metadata__": expected an object of strings, found another value');
    texts.set(key, text);
  }
  return texts;
}

function parseEntry(file: InputFile, name: string, value: unknown): SafetensorsEntry {
  const invalid = (text: string) => file.invalid(`tensor "${name}": ${text}`);
  if (!isRecord(value)) throw invalid('expected an object, found another value');
  const extra = Object.keys(value).find((key) => !['dtype', 'shape', 'data_offsets'].includes(key));
  if (extra !== undefined) throw invalid(`expected dtype, shape and data_offsets, found "${extra}"`);
  const dtype = dtypes.get(value.dtype);
  if (dtype === undefined) throw invalid(`expected a known dtype, found ${JSON.stringify(value.dtype)}`);
  const { shape, data_offsets: offsets } = value;
  if (!isSizes(shape) || shape.length > maxDims)
    throw invalid(`expected a shape of at most ${maxDims} sizes, found another value`);
  if (!isSizes(offsets) || offsets.length !== 2)
    throw invalid('expected data_offsets [begin, end], found another value');
  const [begin = 0, end = 0] = offsets;
  const count = elementCount(shape);
  const expected = count === undefined ? undefined : count * dtypeSizeBytes[dtype];
  if (end - begin !== expected)
    throw invalid(
      `expected ${expected ?? 'fewer'} bytes for ${dtype} ${showShape(shape)}, found ${end - begin}`,
    );
  return { name, dtype, shape, begin, end };
}

function checkCoverage(file: InputFile, entries: SafetensorsEntry[], dataBytes: number): void {
  let position = 0;
  for (const { name, begin, end } of [...entries].sort((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin !== position)
      throw file.invalid(`tensor "${name}": expected its data to begin at ${position}, found ${begin}`);
    position = end;
  }
  if (position !== dataBytes)
    throw file.invalid(`expected ${position} bytes of tensor data, found ${dataBytes}`);
}

function tensorOf(file: InputFile, entry: SafetensorsEntry): CheckpointTensor {
  const { name, dtype, shape } = entry;
  const rowBytes = rowLength(shape) * dtypeSizeBytes[dtype];
  const tensor: CheckpointTensor = {
    name,
    dtype,
    shape,
    async readRows(from, to, into) {
      requireReadable(file.path, tensor);
      const out = rowTarget(tensor, from, to, into);
      const position = entry.begin + from * rowBytes;
      await readUpcast(dtype, out, (target) => file.readInto(target, position));
      return out;
    },
  };
  return tensor;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSizes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}
