import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Result } from '../../../power/report/result.js';
import { remark } from '../output.js';

const earlierResult = z.object({ files: z.array(z.object({ path: z.string(), sha256: z.string() })) });

/** Grows when an experiment goes on. */
const growing = 'journal.jsonl';

/** Raw files that are not as they were when the folder's result.json was computed. */
export async function changedFiles(dir: string, { files }: Result): Promise<string[]> {
  const text = await readFile(join(dir, 'result.json'), 'utf8').catch(() => 'null');
  const earlier = earlierResult.safeParse(parsed(text));
  if (!earlier.success) return [];
  const before = new Map(earlier.data.files.map(({ path, sha256 }) => [path, sha256]));
  return files
    .filter(({ path, sha256 }) => path !== growing && (before.get(path) ?? sha256) !== sha256)
    .map(({ path }) => path);
}

/** Says so: the figures that come now are those of other data. */
export async function remarkChanges(dir: string, result: Result): Promise<void> {
  for (const path of await changedFiles(dir, result))
    remark(`${join(dir, path)}: changed since result.json was computed from it`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
