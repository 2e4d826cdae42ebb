import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publishedSha256 } from '../../../../native/host/index.js';
import { SpikedError } from '../../../protocol/errors.js';
import { fileError } from '../../../../export/input-file.js';
import type { BitnetConfigName } from '../../synth/bitnet/configs.js';
import { writeBitnet } from '../../synth/bitnet/write.js';

export interface ModelSource {
  path: string;
  /** Of the whole file. */
  sha256: string;
  isPublished: boolean;
}

/** Names the published file, where a machine has it. */
export const publishedVariable = 'SPIKED_BITNET_GGUF';

/**
 * Runs work on the model given; else on the published one, where the environment names it; else on one of random weights, which is made for it
 * and removed.
 *
 * @throws SpikedError ERR_MODEL_INVALID when the environment's file is not the published one; ERR_FILE_NOT_FOUND, ERR_FILE_IO
 */
export async function withModel<T>(
  given: string | undefined,
  shape: BitnetConfigName,
  use: (source: ModelSource) => Promise<T>,
): Promise<T> {
  if (given !== undefined) return use(await sourceOf(given));
  const named = process.env[publishedVariable];
  if (named !== undefined && named !== '') {
    const source = await sourceOf(named);
    if (!source.isPublished)
      throw new SpikedError(
        'ERR_MODEL_INVALID',
        `${named}, named by ${publishedVariable}: expected SHA-256 ${[...publishedSha256].join(' or ')}, found ${source.sha256}; give it as an argument to measure it all the same`,
      );
    return use(source);
  }
  const folder = await mkdtemp(join(tmpdir(), 'spiked-harness-'));
  try {
    const out = join(folder, `${shape}.gguf`);
    await writeBitnet({ config: shape, out, seed: 1n, outputHead: false, onProgress: () => undefined });
    return await use(await sourceOf(out));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function sourceOf(path: string): Promise<ModelSource> {
  const hash = createHash('sha256');
  try {
    for await (const part of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>)
      hash.update(part);
  } catch (error) {
    throw fileError(path, error);
  }
  const sha256 = hash.digest('hex');
  return { path, sha256, isPublished: publishedSha256.has(sha256) };
}
