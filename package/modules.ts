import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SpikedError } from '../client/protocol/errors.js';
import type { Target } from './manifest.js';

/** Only the native build needs these, and a package brings the addon built. */
const buildOnly = new Set(['cmake-js', 'node-addon-api']);

interface LockedPackage {
  version: string;
  dependencies?: Record<string, string>;
}
type Lock = Record<string, LockedPackage | undefined>;

/** Direct dependencies of the package: name to version. */
export function runtimeDependencies(all: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(all).filter(([name]) => !buildOnly.has(name)));
}

/**
 * Files of the modules that run: what package-lock.json says, from the checkout's node_modules. The modules are the same for every
 * target but for prebuilt addons, which travel inside them; optional ones, which npm picks by machine, stay out.
 *
 * @returns paths relative to `root`
 * @throws SpikedError ERR_CHECK_FAILED when a module is not installed as locked
 */
export function moduleFiles(root: string, names: readonly string[], target: Target): string[] {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Lock;
  };
  const folders = new Set<string>();
  const add = (from: string, name: string): void => {
    const folder = resolveModule(packages, from, name);
    if (folders.has(folder)) return;
    folders.add(folder);
    checkInstalled(root, folder, packages[folder]?.version ?? '');
    for (const next of Object.keys(packages[folder]?.dependencies ?? {})) add(folder, next);
  };
  for (const name of names) add('', name);
  return [...folders].flatMap((folder) => filesOf(root, folder, target));
}

/** As Node finds it: in the module's own node_modules, else in those of the folders around it. */
function resolveModule(packages: Lock, from: string, name: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (folder.endsWith('node_modules')) continue;
    const path = join(folder, 'node_modules', name);
    if (packages[path] !== undefined) return path;
    if (folder === '' || folder === '.') break;
  }
  throw new SpikedError(
    'ERR_CHECK_FAILED',
    `package-lock.json: expected ${name}, which ${from} needs, found nothing`,
  );
}

function checkInstalled(root: string, folder: string, expected: string): void {
  const path = join(root, folder, 'package.json');
  const found = existsSync(path)
    ? (JSON.parse(readFileSync(path, 'utf8')) as LockedPackage).version
    : 'nothing';
  if (found === expected) return;
  throw new SpikedError(
    'ERR_CHECK_FAILED',
    `${folder}: expected version ${expected}, found ${found}: run npm ci`,
  );
}

/** A module's own files, without modules inside it and without addons for other machines. */
function filesOf(root: string, folder: string, target: Target): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) return entry.isFile() ? [path] : [];
    if (entry.name === 'node_modules') return [];
    if (folder.endsWith('/prebuilds') && entry.name !== target) return [];
    return filesOf(root, path, target);
  });
}
