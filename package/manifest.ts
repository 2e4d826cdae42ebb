import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { SpikedError } from '../client/protocol/errors.js';

export const manifestName = 'manifest.json';
export const targets = ['linux-x64', 'linux-arm64'] as const;
export type Target = (typeof targets)[number];

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const schema = z.strictObject({
  name: z.literal('spiked'),
  version: z.string(),
  /** Of the checkout; `modified` when files differed from it. */
  commit: z.string(),
  modified: z.boolean(),
  target: z.enum(targets),
  /** Versions of Node that run it. */
  node: z.string(),
  compiler: z.string(),
  /** Instruction sets in the addon, best first. */
  isas: z.array(z.string()),
  /** Every file but this one, sorted by path. */
  files: z.array(z.strictObject({ path: z.string(), size_bytes: z.int().min(0), sha256 })),
});

/** What a package says of itself: manifest.json in its folder. */
export type Manifest = z.output<typeof schema>;
export type ManifestFile = Manifest['files'][number];

/** The manifest of an installed package; undefined where there is none, as in a checkout. */
export async function readManifest(folder: string): Promise<Manifest | undefined> {
  const path = join(folder, manifestName);
  const text = await unlessAbsent(readFile(path, 'utf8'));
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    const why = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause);
    throw new SpikedError('ERR_CHECK_FAILED', `${path}: expected the manifest of a package, found ${why}`, {
      cause,
    });
  }
}

/** @throws SpikedError ERR_CHECK_FAILED naming the first file that is missing or not as the manifest says */
export async function verifyFiles(folder: string, manifest: Manifest): Promise<void> {
  for (const expected of manifest.files) {
    const found = await unlessAbsent(describeFile(folder, expected.path));
    if (found?.sha256 === expected.sha256) continue;
    throw new SpikedError(
      'ERR_CHECK_FAILED',
      `${join(folder, expected.path)}: expected SHA-256 ${expected.sha256} of its manifest, found ${found?.sha256 ?? 'no such file'}`,
    );
  }
}

/** Read whole: a package has thousands of small files, and a stream for each takes longer than all the rest. */
export async function describeFile(folder: string, path: string): Promise<ManifestFile> {
  const bytes = await readFile(join(folder, path));
  return { path, size_bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

async function unlessAbsent<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}
