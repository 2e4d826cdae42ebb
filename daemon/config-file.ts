import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { z } from 'zod';
import { describeIssue, SpikedError } from '../client/protocol/index.js';
import { settings, type DaemonOptions, type GivenOptions } from './config.js';

/** `drainMs` is `drain_ms` in the file, as on the wire. */
export function fileKey(setting: string): string {
  return setting.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const file = z.strictObject({
  $schema: z.string().optional().describe('for editors; not read'),
  ...Object.fromEntries(
    Object.entries<z.ZodType>(settings.shape).map(([name, setting]) => [fileKey(name), setting.optional()]),
  ),
});

const maxBytes = 1 << 20;

/** A pipe would hold a thread until somebody writes to it, and the process with it at its end; a device may never end. */
async function readText(path: string): Promise<string> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const entry = await handle.stat();
    if (!entry.isFile()) throw new Error('something else than a regular file');
    if (entry.size > maxBytes) throw new Error(`${entry.size} bytes, more than ${maxBytes}`);
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

/** The JSON schema of a configuration file; systemd/config.schema.json is a copy. */
export function configSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(file, { io: 'input' });
  return { $schema, title: 'Configuration of spiked', ...schema };
}

/**
 * The settings that a file gives.
 *
 * @throws SpikedError ERR_CONFIG_INVALID naming file, key, what was expected and what was found
 */
export async function readConfigFile(path: string): Promise<GivenOptions> {
  const invalid = (text: string): SpikedError => new SpikedError('ERR_CONFIG_INVALID', `${path}: ${text}`);
  const text = await readText(path).catch((error: unknown) => {
    throw invalid(`expected a configuration file, found ${(error as Error).message}`);
  });
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    throw invalid(`expected JSON, found ${(error as Error).message}`);
  }
  const parsed = file.safeParse(raw);
  if (!parsed.success) throw invalid(describeIssue(parsed.error, raw));
  // As it was written: defaults come in later, where neither file nor command line says anything.
  const given = raw as Record<string, unknown>;
  const options = Object.keys(settings.shape).map((name) => [name, given[fileKey(name)]]);
  return Object.fromEntries(options) as GivenOptions;
}

/** Settings of a file and of the command line, which wins. @throws SpikedError ERR_CONFIG_INVALID when no model is named */
export function combine(fromFile: GivenOptions, fromCommandLine: GivenOptions): DaemonOptions {
  const given = (options: object): object =>
    Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const { models, ...options }: GivenOptions = { ...given(fromFile), ...given(fromCommandLine) };
  if (models === undefined) {
    throw new SpikedError(
      'ERR_CONFIG_INVALID',
      'models: expected --model, or "models" in the file of --config, found neither',
    );
  }
  return { ...options, models, limits: { ...fromFile.limits, ...given(fromCommandLine.limits ?? {}) } };
}
