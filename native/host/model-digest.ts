import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { asFileError, tooShort, type ModelFile, type TensorEntry } from './model-file.js';

export interface ModelDigest {
  /** Hex, of all bytes from the start of the data section to the end of the file. */
  dataSha256: string;
  /** Whether the file declares this digest; undefined when it declares none. */
  matches: boolean | undefined;
  /** Hex, by tensor name. */
  tensorSha256: ReadonlyMap<string, string>;
}

interface Part {
  tensor: TensorEntry;
  hash: Hash;
}

/** Feeds the piece of `chunk`, which lies at `at` in the file, that belongs to the tensor. */
function feed({ tensor, hash }: Part, chunk: Buffer, at: number): void {
  const from = Math.max(tensor.offsetBytes, at);
  const to = Math.min(tensor.offsetBytes + tensor.sizeBytes, at + chunk.length);
  if (from < to) hash.update(chunk.subarray(from - at, to - at));
}

/**
 * Recomputes a model's digests from its bytes, in one pass over the file.
 *
 * @param onBytes  told how many bytes more were read
 * @throws SpikedError ERR_FILE_IO, ERR_MODEL_FILE_CHANGED
 */
export async function digestModel(file: ModelFile, onBytes?: (count: number) => void): Promise<ModelDigest> {
  const data = createHash('sha256');
  const parts = file.tensors
    .toSorted((a, b) => a.offsetBytes - b.offsetBytes)
    .map((tensor) => ({ tensor, hash: createHash('sha256') }));
  // Tensors do not overlap: those before `first` are complete.
  let first = 0;
  let at = file.dataOffsetBytes;
  try {
    const stream = createReadStream(file.path, {
      start: at,
      end: file.sizeBytes - 1,
      highWaterMark: 1 << 20,
    });
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const end = at + chunk.length;
      data.update(chunk);
      for (let i = first; i < parts.length; i++) {
        const part = parts[i];
        if (part === undefined || part.tensor.offsetBytes >= end) break;
        feed(part, chunk, at);
        if (part.tensor.offsetBytes + part.tensor.sizeBytes <= end) first = i + 1;
      }
      at = end;
      onBytes?.(chunk.length);
    }
  } catch (error) {
    throw asFileError(file.path, error);
  }
  if (at !== file.sizeBytes) throw tooShort(file.path, file.sizeBytes, at);
  const dataSha256 = data.digest('hex');
  return {
    dataSha256,
    matches: file.dataSha256 === undefined ? undefined : file.dataSha256 === dataSha256,
    tensorSha256: new Map(parts.map(({ tensor, hash }) => [tensor.name, hash.digest('hex')])),
  };
}
