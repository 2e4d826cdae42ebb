import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../tools/process.js';

/** Object files of ISA folders inside a build folder, newest layout of cmake: .../native/kernels/<isa>/<name>.cpp.o */
export function isaObjects(build: string): { isa: string; path: string }[] {
  return readdirSync(build, { recursive: true, encoding: 'utf8' }).flatMap((name) => {
    const isa = /native\/kernels\/(avx2|avx2_vnni|neon|neon_dotprod)\/[^/]+\.o(bj)?$/.exec(name)?.[1];
    const path = join(build, name);
    return isa !== undefined && statSync(path).isFile() ? [{ isa, path }] : [];
  });
}

/**
 * Names an ISA object offers to the linker that are not functions of its own namespace. Such a name (an inline function of a shared
 * header, a template) is compiled with the ISA's flags, and the linker may keep that copy for every caller: an illegal instruction on
 * a lesser CPU.
 */
export async function foreignSymbols(path: string, isa: string): Promise<string[]> {
  const result = await run('nm', ['--defined-only', '--extern-only', path]);
  if (result.code !== 0) throw new Error(`nm ${path}: ${result.stderr}`);
  // Itanium names: _ZN 6spiked 7kernels 4avx2 ...
  const own = new RegExp(`^_ZN6spiked7kernels${isa.length}${isa}\\d`);
  return result.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(/\s+/).slice(1).join(' '))
    .filter((line) => !/^[TR] /.test(line) || !own.test(line.slice(2)));
}
