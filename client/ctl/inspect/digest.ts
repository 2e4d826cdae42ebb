import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Manifest } from './manifest.js';

export interface Digests {
  /** SHA-256 from the start of the data section to the end of the file. */
  data: string;
  /** SHA-256 of each tensor's own bytes, in the manifest's order. */
  tensors: string[];
}

/** Hashes the data section in one pass over the file. */
export async function readDigests(manifest: Manifest): Promise<Digests> {
  const whole = createHash('sha256');
  const hashes = manifest.tensors.map(() => createHash('sha256'));
  let position = manifest.data_offset;
  let current = 0;
  // One large block a read: at the default of 64 KiB the reads cost more than the hash.
  const stream = createReadStream(manifest.file, { start: position, highWaterMark: 4 << 20 });
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    whole.update(chunk);
    current = feed(manifest, hashes, chunk, position, current);
    position += chunk.length;
  }
  return { data: whole.digest('hex'), tensors: hashes.map((hash) => hash.digest('hex')) };
}

/** Gives each tensor its part of a chunk; returns the first tensor that may have more in the next one. */
function feed(manifest: Manifest, hashes: Hash[], chunk: Buffer, position: number, from: number): number {
  const end = position + chunk.length;
  let index = from;
  for (; index < manifest.tensors.length; index++) {
    const tensor = manifest.tensors[index];
    if (tensor === undefined || tensor.offset_bytes >= end) break;
    const tensorEnd = tensor.offset_bytes + tensor.size_bytes;
    const begin = Math.max(tensor.offset_bytes, position);
    hashes[index]?.update(chunk.subarray(begin - position, Math.min(tensorEnd, end) - position));
    if (tensorEnd > end) break;
  }
  return index;
}
