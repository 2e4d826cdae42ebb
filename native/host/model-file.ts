import { open } from 'node:fs/promises';
import { SpikedError } from '../../client/protocol/errors.js';
import { addon } from './addon.js';

/** Integers beyond 2^53 and floats that are not finite come as strings. */
export type MetadataValue = string | number | boolean | MetadataValue[];

export interface MetadataEntry {
  key: string;
  /** u8 … u64, i8 … i64, f32, f64, bool, string or array */
  type: string;
  /** Absent for arrays longer than 64. */
  value?: MetadataValue;
  elementType?: string;
  length?: number;
  /** Where an array's elements begin in the file. */
  offsetBytes?: number;
}

export interface TensorEntry {
  name: string;
  type: string;
  /** As GGUF has them: the fastest first, padding included. */
  dims: number[];
  /** As the checkpoint had it; undefined in files that are not ours, as are the two below. */
  shape: number[] | undefined;
  layout: string | undefined;
  /** Only where the tensor has a scale. */
  scaleShape: number[] | undefined;
  offsetBytes: number;
  sizeBytes: number;
}

/** What is in a GGUF file; offsets count from its start. */
export interface ModelFile {
  path: string;
  version: number;
  alignment: number;
  dataOffsetBytes: number;
  sizeBytes: number;
  metadata: ReadonlyMap<string, MetadataEntry>;
  tensors: readonly TensorEntry[];
  /** As declared, 64 hex digits. */
  dataSha256: string | undefined;
  tokenizer: { offsetBytes: number; sizeBytes: number } | undefined;
}

/** The text that describeFile gives: the form of capi/spiked.h. */
interface Described {
  version: number;
  alignment: number;
  data_offset: number;
  size_bytes: number;
  metadata: {
    key: string;
    type: string;
    value?: MetadataValue;
    element_type?: string;
    length?: number;
    offset_bytes?: number;
  }[];
  tensors: { name: string; type: string; dims: number[]; offset_bytes: number; size_bytes: number }[];
}

function readMetadata(described: Described): Map<string, MetadataEntry> {
  return new Map(
    described.metadata.map(({ element_type: elementType, offset_bytes: offsetBytes, ...rest }) => [
      rest.key,
      {
        ...rest,
        ...(elementType !== undefined && { elementType }),
        ...(offsetBytes !== undefined && { offsetBytes }),
      },
    ]),
  );
}

function text(entry: MetadataEntry | undefined): string | undefined {
  return typeof entry?.value === 'string' ? entry.value : undefined;
}

function shape(entry: MetadataEntry | undefined): number[] | undefined {
  const value = entry?.value;
  return Array.isArray(value) ? value.filter((side) => typeof side === 'number') : undefined;
}

/**
 * What is in a GGUF file, without loading it. Any well-formed GGUF will do; whether it is a model that runs is the engine's to say.
 *
 * @throws SpikedError ERR_FILE_NOT_FOUND, ERR_FILE_IO, ERR_MODEL_INVALID
 */
export async function describeModel(path: string): Promise<ModelFile> {
  const described = JSON.parse(await addon().describeFile(path)) as Described;
  const metadata = readMetadata(described);
  const architecture = text(metadata.get('general.architecture')) ?? '';
  const of = (kind: string, name: string): MetadataEntry | undefined =>
    metadata.get(`${architecture}.${kind}.${name}`);
  const tokenizer = metadata.get('tokenizer.sentencepiece.model');
  return {
    path,
    version: described.version,
    alignment: described.alignment,
    dataOffsetBytes: described.data_offset,
    sizeBytes: described.size_bytes,
    metadata,
    tensors: described.tensors.map(({ name, type, dims, offset_bytes, size_bytes }) => ({
      name,
      type,
      dims,
      shape: shape(of('shape', name)),
      layout: text(of('layout', name)),
      scaleShape: shape(of('scale_shape', name)),
      offsetBytes: offset_bytes,
      sizeBytes: size_bytes,
    })),
    dataSha256: text(metadata.get(`${architecture}.data_sha256`)),
    tokenizer:
      tokenizer?.offsetBytes === undefined
        ? undefined
        : { offsetBytes: tokenizer.offsetBytes, sizeBytes: tokenizer.length ?? 0 },
  };
}

/**
 * The bytes of a file from `offsetBytes` on: how the tokenizer inside a model is read (ModelInfo.tokenizer, ModelFile.tokenizer).
 *
 * @throws SpikedError ERR_FILE_IO, ERR_MODEL_FILE_CHANGED when the file has become too short
 */
export async function readFileBytes(
  path: string,
  { offsetBytes, sizeBytes }: { offsetBytes: number; sizeBytes: number },
): Promise<Uint8Array> {
  try {
    await using file = await open(path);
    const bytes = new Uint8Array(sizeBytes);
    let at = 0;
    while (at < sizeBytes) {
      const { bytesRead } = await file.read(bytes, at, sizeBytes - at, offsetBytes + at);
      if (bytesRead === 0) throw tooShort(path, offsetBytes + sizeBytes, offsetBytes + at);
      at += bytesRead;
    }
    return bytes;
  } catch (error) {
    throw asFileError(path, error);
  }
}

/** @internal */
export function tooShort(path: string, expected: number, found: number): SpikedError {
  const message = `${path}: expected ${String(expected)} bytes as when it was described, found ${String(found)}`;
  return new SpikedError('ERR_MODEL_FILE_CHANGED', message);
}

/** @internal */
export function asFileError(path: string, cause: unknown): SpikedError {
  if (cause instanceof SpikedError) return cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new SpikedError('ERR_FILE_IO', `${path}: expected to read it, found ${why}`, { cause });
}
