import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { analyze } from '../../../power/report/analyze.js';
import { reportMarkdown } from '../../../power/report/markdown.js';
import type { Result } from '../../../power/report/result.js';
import { tracePanels } from '../../../power/report/trace-panels.js';
import { remarkChanges } from './changed-files.js';
import { pairedPicture } from './pictures/paired.js';
import { runsPicture } from './pictures/runs.js';
import { traceColumns, tracePicture } from './pictures/trace.js';

/** result.json: the same result gives the same bytes. */
export function resultText(result: Result): string {
  return `${JSON.stringify(result, null, 1)}\n`;
}

const pictures = { paired: 'paired.svg', runs: 'runs.svg', trace: 'trace.svg' } as const;

/**
 * Computes an experiment's folder and writes result.json, report.md and the pictures, each of which appears when it is complete.
 *
 * @returns the result, and the paths that were written
 * @throws SpikedError ERR_EXPERIMENT_INVALID as `analyze`
 */
export async function writeReport(dir: string, output: string): Promise<{ result: Result; paths: string[] }> {
  const result = await analyze(dir);
  await remarkChanges(dir, result);
  const panels = await tracePanels(dir, result, traceColumns);
  const files = new Map([
    ['result.json', resultText(result)],
    ['report.md', reportMarkdown(result, pictures)],
    [pictures.paired, pairedPicture(result)],
    [pictures.runs, runsPicture(result)],
    [pictures.trace, tracePicture(result, panels)],
  ]);
  await mkdir(output, { recursive: true });
  const paths: string[] = [];
  for (const [name, content] of files) paths.push(await writeWhole(join(output, name), content));
  return { result, paths };
}

/** Writes a file that appears when it is complete. Returns its path. */
export async function writeWhole(path: string, content: string): Promise<string> {
  const partial = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(partial, content);
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  return path;
}
