import { which } from './process.js';

/** The C++ compiler that cmake would take. */
export function compiler(): string {
  const name =
    process.env['CXX'] ?? ['c++', 'g++', 'clang++'].find((program) => which(program) !== undefined);
  if (name === undefined) throw new Error('no C++ compiler: expected c++, g++ or clang++ in PATH');
  return name;
}
