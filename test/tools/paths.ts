import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** The checkout: this file runs as dist/test/tools/paths.js. */
export const root = resolve(import.meta.dirname, '..', '..', '..');

/** A `shared/` folder beside the checkout (released tokenizers, reference data), when there is one. */
export function sharedDir(): string | undefined {
  const path = join(dirname(root), 'shared');
  return existsSync(path) ? path : undefined;
}

const generated = /^(node_modules|dist|build.*|coverage|\.git)$/;

/** Every file of the checkout that is not generated, relative to it, sorted. */
export function sourceFiles(base: string = root): string[] {
  const found: string[] = [];
  const walk = (folder: string): void => {
    for (const entry of readdirSync(join(base, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() && !(generated.test(entry.name) && !path.startsWith('test/'))) walk(path);
      else if (entry.isFile() && !entry.name.endsWith('.tmp')) found.push(path);
    }
  };
  walk('');
  return found.sort();
}
