import { spawnSync } from 'node:child_process';
import { SpikedError } from '../../client/protocol/errors.js';

export interface Compiler {
  /** The program and its leading arguments, as CXX gives them. */
  command: readonly string[];
  /** Changes when the compiler does. */
  identity: string;
}

export interface BuildTools {
  compiler: Compiler;
  generator: 'Ninja' | 'Unix Makefiles';
}

/** A tool that does not do, and what brings a good one: a Debian package unless it says otherwise. */
class Lacking {
  constructor(
    readonly what: string,
    readonly aptPackage: string | undefined,
  ) {}
}

const cross = 'aarch64-linux-gnu-g++';

function output(command: readonly string[], input = ''): string | undefined {
  const [program = '', ...args] = command;
  const result = spawnSync(program, args, { input, encoding: 'utf8', maxBuffer: 1 << 26 });
  return result.status === 0 ? result.stdout : undefined;
}

function findNode(): Lacking | undefined {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const fits = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major >= 24;
  if (fits) return undefined;
  const expected = 'expected 20.19, 22.12, 24 or newer (see nodejs.org)';
  return new Lacking(`Node: ${expected}, found ${process.versions.node}`, undefined);
}

function findCmake(): Lacking | undefined {
  const version = /cmake version (\d+)\.(\d+)\S*/.exec(output(['cmake', '--version']) ?? '');
  if (version === null) return new Lacking('cmake: expected 3.22 or newer, found none', 'cmake');
  const [major = 0, minor = 0] = version.slice(1).map(Number);
  if (major > 3 || (major === 3 && minor >= 22)) return undefined;
  return new Lacking(`cmake: expected 3.22 or newer, found ${version[0].slice(14)}`, 'cmake');
}

/** The predefined macros tell family and version whatever the program's name; the header tells that a C++ library is there. */
function tryCompiler(command: readonly string[]): Compiler | Lacking {
  const name = command.join(' ');
  const aptPackage = command[0] === cross ? 'g++-aarch64-linux-gnu' : 'g++';
  const expected = 'expected a C++20 compiler (g++ 12, clang++ 14 or newer)';
  const macros = output([...command, '-x', 'c++', '-std=c++20', '-dM', '-E', '-'], '#include <bit>\n');
  if (macros === undefined) {
    const found =
      output([...command, '--version']) === undefined ? 'no such program' : 'one that knows no C++20';
    return new Lacking(`${name}: ${expected}, found ${found}`, aptPackage);
  }
  const macro = (key: string): string => new RegExp(`^#define ${key} (.*)$`, 'm').exec(macros)?.[1] ?? '';
  const clang = Number(macro('__clang_major__'));
  const gcc = Number(macro('__GNUC__'));
  const fits = clang > 0 ? clang >= 14 : gcc >= 12;
  const found = `${clang > 0 ? `clang ${String(clang)}` : `gcc ${String(gcc)}`} (${macro('__VERSION__').replaceAll('"', '')})`;
  return fits
    ? { command, identity: `${name}: ${found}` }
    : new Lacking(`${name}: ${expected}, found ${found}`, aptPackage);
}

function findCompiler(crossing: boolean): Compiler | Lacking {
  const asked = (process.env['CXX'] ?? '').split(/\s+/).filter((word) => word !== '');
  if (crossing) return tryCompiler([cross]);
  if (asked.length > 0) return tryCompiler(asked);
  const gcc = tryCompiler(['g++']);
  if (!(gcc instanceof Lacking)) return gcc;
  const clang = tryCompiler(['clang++']);
  return clang instanceof Lacking ? gcc : clang;
}

function findGenerator(): BuildTools['generator'] | Lacking {
  if (output(['ninja', '--version']) !== undefined) return 'Ninja';
  if (output(['make', '--version']) !== undefined) return 'Unix Makefiles';
  return new Lacking('make: expected make or ninja, found neither', 'make');
}

/**
 * The programs that the native build needs.
 *
 * @param crossing  build for arm64 on another machine
 * @throws SpikedError ERR_TOOL_MISSING naming every program that is missing or too old, and the packages that bring them
 */
export function findBuildTools(crossing: boolean): BuildTools {
  const compiler = findCompiler(crossing);
  const generator = findGenerator();
  const lacking = [findNode(), findCmake(), compiler, generator].filter((found) => found instanceof Lacking);
  if (lacking.length > 0 || compiler instanceof Lacking || generator instanceof Lacking) {
    const packages = [...new Set(lacking.flatMap(({ aptPackage }) => aptPackage ?? []))].join(' ');
    const fix = packages === '' ? '' : `. On Debian: apt-get install ${packages}`;
    throw new SpikedError('ERR_TOOL_MISSING', lacking.map(({ what }) => what).join('; ') + fix);
  }
  return { compiler, generator };
}
