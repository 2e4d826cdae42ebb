import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { RawFile } from './result.js';

/** Folder of a part's trace. */
export function traceFolder(dir: string, part: number): string {
  return join(dir, 'parts', String(part).padStart(3, '0'), 'trace');
}

/** The raw files of an experiment with their digests, by path: what every figure was computed from. */
export async function rawFiles(dir: string): Promise<RawFile[]> {
  const paths = ['plan.json', 'journal.jsonl', ...(await below(dir, 'parts')), ...(await below(dir, 'runs'))];
  const files: RawFile[] = [];
  for (const path of paths.sort()) files.push({ path, ...(await digest(join(dir, path))) });
  return files;
}

async function below(dir: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(dir, folder), { withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const entry of entries)
    if (entry.isDirectory()) found.push(...(await below(dir, `${folder}/${entry.name}`)));
    else found.push(`${folder}/${entry.name}`);
  return found;
}

async function digest(path: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}
