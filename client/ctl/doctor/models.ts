import { stat } from 'node:fs/promises';
import { describeModel, digestModel } from '../../../native/host/index.js';
import { SpikedError } from '../../protocol/errors.js';
import { fail, mib, ok, warn, type Check } from './check.js';

/** A model's data has the digest that the file declares. */
export async function checkModel(path: string): Promise<Check> {
  try {
    const file = await describeModel(path);
    const { dataSha256, matches } = await digestModel(file);
    if (matches === undefined)
      return warn(
        'model',
        `${path}: declares no SHA-256, so nothing says whether it is whole`,
        `spikectl export ${path} -o NEW.gguf`,
      );
    if (matches) return ok('model', `${path}: ${mib(file.sizeBytes)}, SHA-256 ${dataSha256} as declared`);
    const text = `${path}: data: expected SHA-256 ${file.dataSha256 ?? ''} as declared, found ${dataSha256}`;
    return fail('model', text, 'copy the file again from where it is whole');
  } catch (error) {
    if (!(error instanceof SpikedError)) throw error;
    return fail(
      'model',
      error.message,
      fixes[error.code] ?? 'export it again: spikectl export CHECKPOINT -o MODEL',
    );
  }
}

const fixes: Record<string, string> = {
  ERR_FILE_NOT_FOUND: 'put the file there, or take it out of the configuration',
  ERR_FILE_IO: 'give this user the right to read the file',
};

/** Of all files that are there. */
export async function modelBytes(models: readonly string[]): Promise<number> {
  const sizes = await Promise.all(
    models.map(async (path) => (await stat(path).catch(() => null))?.size ?? 0),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** What the models take against what the machine has. */
export function checkMemory(need: number, meminfo: string): Check {
  const available = 1024 * Number(/^MemAvailable:\s+(\d+) kB$/m.exec(meminfo)?.[1] ?? NaN);
  if (Number.isNaN(available))
    return warn('memory', '/proc/meminfo has no MemAvailable', 'use a kernel of 3.14 or newer');
  const text = `${mib(available)} available, models of ${mib(need)} together`;
  const fix = 'load fewer models, export with --weights int4mix, or end what else takes memory';
  if (need > available) return fail('memory', text, fix);
  return need > 0.8 * available ? warn('memory', text, fix) : ok('memory', text);
}
