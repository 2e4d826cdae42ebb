import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { SpikedError, errorTable, isErrorCode, type ErrorCode } from '../../client/protocol/errors.js';
import type { Addon } from './addon-types.js';
import { packageRoot } from './package-root.js';

const codes = new Map<number, ErrorCode>(
  Object.entries(errorTable).flatMap(([code, { number }]) => (isErrorCode(code) ? [[number, code]] : [])),
);

function makeError(number: number, message: string): Error {
  const code = codes.get(number);
  if (code !== undefined) return new SpikedError(code, message);
  return new SpikedError('ERR_INTERNAL', `error ${String(number)} is not in the table: ${message}`);
}

/** Where the built addon is: SPIKED_ADDON, else the build folder; a folder made for arm64 elsewhere comes first on arm64. */
export function addonPath(): string {
  const asked = process.env['SPIKED_ADDON'];
  if (asked !== undefined && asked !== '') return resolve(asked);
  const folders = process.arch === 'arm64' ? ['build-arm64', 'build'] : ['build'];
  const paths = folders.map((folder) => join(packageRoot, folder, 'Release', 'spiked.node'));
  return paths.find((path) => existsSync(path)) ?? join(packageRoot, 'build', 'Release', 'spiked.node');
}

let loaded: Addon | undefined;

/**
 * The native addon, loaded once a thread.
 *
 * @throws SpikedError ERR_FILE_NOT_FOUND when it was not built
 * @throws SpikedError ERR_FILE_IO when Node cannot load the file (another machine's, another build's)
 */
export function addon(): Addon {
  if (loaded !== undefined) return loaded;
  const path = addonPath();
  if (!existsSync(path)) {
    throw new SpikedError(
      'ERR_FILE_NOT_FOUND',
      `${path}: expected the native addon, found nothing: run npm run build`,
    );
  }
  try {
    const found = createRequire(import.meta.url)(path) as Addon;
    found.setErrorFactory(makeError);
    loaded = found;
    return found;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new SpikedError(
      'ERR_FILE_IO',
      `${path}: expected an addon that Node ${process.version} can load, found ${why}`,
      { cause },
    );
  }
}
