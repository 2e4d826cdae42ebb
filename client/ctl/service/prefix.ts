import { existsSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { packageRoot } from '../../../native/host/package-root.js';
import { readManifest, verifyFiles, type Manifest } from '../../../package/manifest.js';
import { SpikedError } from '../../protocol/errors.js';
import type { Scope } from './places.js';

export interface PrefixOptions {
  prefix?: string;
  node?: string;
  /** Root of another system's files, which have another machine's programs. */
  root?: string;
  checkout?: true;
}

/** What the units name. A link stays one, so that it can point at the next version. */
export interface Prefix {
  folder: string;
  node: string;
  /** None in a checkout. */
  manifest: Manifest | undefined;
}

/** What a service cannot see that has its own view of the file system (ProtectHome, PrivateTmp). */
const hidden = ['/home', '/root', '/run/user', '/tmp', '/var/tmp'];
/** Nothing that a unit would read as more than a path. */
const plain = /^\/[\w./+~@:-]*$/;

/**
 * The package that a service is to run, proved to be as it was made.
 *
 * @throws SpikedError ERR_CHECK_FAILED for a checkout, a damaged package or one for another machine
 * @throws SpikedError ERR_INVALID_ARGUMENT for a path that the service could not use
 */
export async function readPrefix(scope: Scope, options: PrefixOptions): Promise<Prefix> {
  const folder = resolve(options.prefix ?? packageRoot);
  const node = resolve(options.node ?? process.execPath);
  const here = join(options.root ?? '/', folder);
  for (const path of [folder, node]) checkPath(path);
  if (scope === 'system' && options.root === undefined) for (const path of [folder, node]) checkVisible(path);
  const manifest = await readManifest(here);
  if (manifest !== undefined) {
    await verifyFiles(here, manifest);
    if (options.root === undefined) checkTarget(folder, manifest);
  } else if (!options.checkout || !existsSync(join(here, 'dist/daemon/main.js'))) {
    throw new SpikedError(
      'ERR_CHECK_FAILED',
      `${here}: expected a package with its manifest, found ${whatIs(here)}`,
    );
  }
  return { folder, node, manifest };
}

function whatIs(folder: string): string {
  if (!existsSync(join(folder, 'package.json'))) return 'none';
  return 'a checkout: npm run package makes a package of it, --checkout installs it as it is';
}

function checkPath(path: string): void {
  if (plain.test(path)) return;
  throw new SpikedError(
    'ERR_INVALID_ARGUMENT',
    `${JSON.stringify(path)}: expected a path of letters, digits and ./+~@:_- for a unit file, found another character`,
  );
}

function checkVisible(path: string): void {
  const real = existsSync(path) ? realpathSync(path) : path;
  const place = hidden.find((folder) => [path, real].some((each) => each.startsWith(`${folder}/`)));
  if (place === undefined) return;
  throw new SpikedError(
    'ERR_INVALID_ARGUMENT',
    `${path}: expected a path that a system service sees (such as /opt or /usr), found one in ${place}`,
  );
}

function checkTarget(folder: string, { target }: Manifest): void {
  const own = `linux-${process.arch}`;
  if (target === own) return;
  throw new SpikedError(
    'ERR_CHECK_FAILED',
    `${folder}: expected a package for ${own}, found one for ${target}`,
  );
}
