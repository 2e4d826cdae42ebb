import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SpikedError } from '../client/protocol/errors.js';
import { fileError } from './input-file.js';

export type CheckpointConfig = Record<string, unknown>;

const maxConfigBytes = 1 << 20;

/**
 * The configuration in a JSON file: the object itself, or its `config` key where it has one.
 *
 * @throws SpikedError ERR_FILE_NOT_FOUND, ERR_FILE_IO, ERR_CHECKPOINT_INVALID
 */
export async function readConfigFile(path: string): Promise<CheckpointConfig> {
  let parsed: unknown;
  try {
    const { size } = await stat(path);
    if (size > maxConfigBytes)
      throw new SpikedError(
        'ERR_CHECKPOINT_INVALID',
        `${path}: expected at most ${maxConfigBytes} bytes, found ${size}`,
      );
    parsed = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new SpikedError('ERR_CHECKPOINT_INVALID', `${path}: expected JSON, found ${error.message}`);
    throw fileError(path, error);
  }
  if (!isRecord(parsed))
    throw new SpikedError('ERR_CHECKPOINT_INVALID', `${path}: expected a JSON object, found another value`);
  return isRecord(parsed.config) ? parsed.config : parsed;
}

/** The configuration beside a weight file that carries none: config.json, else index.json. */
export async function readConfigBeside(weightFile: string): Promise<CheckpointConfig> {
  for (const name of ['config.json', 'index.json']) {
    try {
      return await readConfigFile(join(dirname(weightFile), name));
    } catch (error) {
      if (!(error instanceof SpikedError) || error.code !== 'ERR_FILE_NOT_FOUND') throw error;
    }
  }
  throw new SpikedError(
    'ERR_CHECKPOINT_INVALID',
    `${weightFile}: expected a configuration in config.json beside it or in a file named with --config, found none`,
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
