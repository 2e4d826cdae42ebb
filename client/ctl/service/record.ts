import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { SpikedError } from '../../protocol/errors.js';
import type { Places } from './places.js';

const schema = z.strictObject({
  version: z.string(),
  prefix: z.string(),
  node: z.string(),
  /** Path to the SHA-256 of what was written there. */
  files: z.record(z.string(), z.string()),
  /** That were made for them, outermost first. */
  folders: z.array(z.string()),
});

/** What an installation wrote, so that the next one and uninstall know its files from anybody else's. */
export type InstallRecord = z.output<typeof schema>;

/** Undefined where nothing is installed. */
export async function readRecord(places: Places, root: string): Promise<InstallRecord | undefined> {
  const text = await readUnlessAbsent(join(root, places.record));
  if (text === undefined) return undefined;
  const parsed = schema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const found = z.prettifyError(parsed.error);
  throw new SpikedError(
    'ERR_CHECK_FAILED',
    `${places.record}: expected the record of an installation, found ${found}`,
  );
}

export type FileState = 'as_installed' | 'changed' | 'missing';

export async function fileState(path: string, sha256: string | undefined, root: string): Promise<FileState> {
  const text = await readUnlessAbsent(join(root, path));
  if (text === undefined) return 'missing';
  return digest(text) === sha256 ? 'as_installed' : 'changed';
}

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export async function readUnlessAbsent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
