import { existsSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import ts from 'typescript';
import { allowed, isaFolders, roomOf } from './rooms.js';

const isCpp = (file: string): boolean => /\.(h|cpp|c|def)$/.test(file);
const isTypeScript = (file: string): boolean => file.endsWith('.ts');

/** C headers and intrinsics hold no template or inline function that the linker could keep for everyone. */
const isaHeaders = /^(cstddef|cstdint|cstring|cmath|cfloat|immintrin\.h|arm_neon\.h)$/;

function includeFaults(base: string, file: string, text: string): string[] {
  const room = roomOf(file);
  if (room === undefined) return [];
  const isa = isaFolders.includes(room.folder);
  const faults: string[] = [];
  for (const [, open, path] of text.matchAll(/^\s*#\s*include\s*([<"])([^>"]+)[>"]/gm)) {
    if (path === undefined) continue;
    if (open === '<') {
      if (isa && !isaHeaders.test(path))
        faults.push(`${file}: <${path}> may not be included in an ISA folder`);
      continue;
    }
    // Includes are written from native/, tests' own from test/native/; a file beside the including one is the only other form.
    const target = [`native/${path}`, `test/native/${path}`, normalize(join(dirname(file), path))].find((t) =>
      existsSync(join(base, t)),
    );
    if (target === undefined) faults.push(`${file}: "${path}" is no file of the project`);
    else if (!allowed(room, target)) faults.push(`${file}: may not include ${target}`);
  }
  return faults;
}

function importFaults(base: string, file: string, text: string, packages: ReadonlySet<string>): string[] {
  const room = roomOf(file);
  if (room === undefined) return [];
  const faults: string[] = [];
  for (const { fileName } of ts.preProcessFile(text, true, true).importedFiles) {
    if (!fileName.startsWith('.')) {
      const name = fileName
        .split('/')
        .slice(0, fileName.startsWith('@') ? 2 : 1)
        .join('/');
      const known = fileName.startsWith('node:') || packages.has(name) || room.uses.includes('*');
      if (builtinModules.includes(fileName)) faults.push(`${file}: write node:${fileName}`);
      else if (!known) faults.push(`${file}: ${name} is not in the dependencies of package.json`);
      continue;
    }
    const target = normalize(join(dirname(file), fileName)).replace(/\.js$/, '.ts');
    if (!existsSync(join(base, target))) faults.push(`${file}: ${fileName} is no file of the project`);
    else if (!allowed(room, target)) faults.push(`${file}: may not import ${target}`);
  }
  return faults;
}

/**
 * Everything in the tree that is not as the table of rooms says, one sentence each.
 *
 * @param base      the tree
 * @param files     its files, relative to `base`
 * @param packages  npm packages that a product room may import
 */
export function arrowFaults(base: string, files: readonly string[], packages: ReadonlySet<string>): string[] {
  const faults: string[] = [];
  for (const file of files.filter((f) => isCpp(f) || isTypeScript(f))) {
    if (roomOf(file) === undefined) {
      faults.push(`${file}: belongs to no room`);
      continue;
    }
    const text = readFileSync(join(base, file), 'utf8');
    faults.push(
      ...(isCpp(file) ? includeFaults(base, file, text) : importFaults(base, file, text, packages)),
    );
  }
  return faults;
}
