/**
 * Instructions that each kernel executes on fixed shapes: on this machine under valgrind's callgrind, for NEON under emulation with a
 * counting plugin. The same program, data and compiler give the same counts on every run and machine.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildFolder as arm64Folder, buildArm64, noEmulation } from '../arm64/arm64.js';
import { compiler } from './compiler.js';
import { buildPrograms, programPath } from './native-build.js';
import { root } from './paths.js';
import { missing, run } from './process.js';

const program = 'spiked_kernel_cases';
const timeoutMs = 300_000;

export const isas = ['avx2', 'neon', 'neon_dotprod'] as const;
export type Isa = (typeof isas)[number];

/** Counts by case: a kernel's name, and `x32` behind it for 32 tokens at once. */
export type Counts = Record<string, number>;

export interface Counted {
  /** In the order of the program. */
  counts: Counts;
  /** Weights that a case multiplies or adds, of those that have any. */
  weights: Counts;
}

export interface Expected {
  /** Of both compilers, by -dumpfullversion: another one generates other code. */
  gcc: string;
  /** Share by which a count may differ. */
  tolerance: number;
  weights: Counts;
  counts: Record<Isa, Counts>;
}

export const expectedPath = join(root, 'test/native/instructions/expected.json');
export const reportPath = join(root, 'docs/bench/kernels-neon-instructions.json');
export const renew = 'node dist/test/tools/renew-instructions.js';

export const readExpected = (): Expected => JSON.parse(readFileSync(expectedPath, 'utf8')) as Expected;

/** Thrown with the reason why an instruction set cannot be counted here. */
export class CannotCount extends Error {}

async function requireGcc(command: string, version: string | undefined): Promise<void> {
  if (version === undefined) return;
  const { code, stdout } = await run(command, ['-dumpfullversion']);
  const found = code === 0 ? `GCC ${stdout.trim()}` : 'another compiler';
  if (found !== `GCC ${version}`)
    throw new CannotCount(`the expected counts are of GCC ${version}, ${command} is ${found}`);
}

/** The program's lines and the counter's numbers, side by side. */
function pair(stdout: string, numbers: readonly number[]): Counted {
  const lines = stdout.trim().split('\n');
  if (lines.length !== numbers.length)
    throw new Error(`${program}: expected ${lines.length} counts, found ${numbers.length}`);
  const counted: Counted = { counts: {}, weights: {} };
  lines.forEach((line, i) => {
    const [kernel = '', tokens = '', weights = ''] = line.split(' ');
    const name = tokens === '1' ? kernel : `${kernel} x${tokens}`;
    counted.counts[name] = numbers[i] ?? 0;
    if (Number(weights) > 0) counted.weights[name] = Number(weights);
  });
  return counted;
}

async function underCallgrind(folder: string, gcc: string | undefined): Promise<Counted> {
  const reason = process.arch === 'x64' ? missing('valgrind') : 'this machine is not x86-64';
  if (reason !== undefined) throw new CannotCount(reason);
  await requireGcc(compiler(), gcc);
  const built = await buildPrograms('build-native', { SPIKED_WERROR: 'ON' });
  if (built.failed > 0) throw new Error(built.output);
  const path = programPath('build-native', program);
  const plain = await run(path, ['avx2'], { timeoutMs });
  if (plain.code !== 0) throw new CannotCount(plain.stderr.trim());
  const out = join(folder, 'counts');
  const marks = ['--zero-before=spiked_count_begin', '--dump-before=spiked_count_end'];
  const args = ['--tool=callgrind', `--callgrind-out-file=${out}`, ...marks, path, 'avx2'];
  const result = await run('valgrind', args, { timeoutMs });
  if (result.code !== 0) throw new Error(`valgrind: ${result.stderr}`);
  const numbers: number[] = [];
  for (let i = 1; existsSync(`${out}.${String(i)}`); ++i) {
    const total = /^totals: (\d+)$/m.exec(readFileSync(`${out}.${String(i)}`, 'utf8'));
    if (total === null) throw new Error(`callgrind's dump ${String(i)}: expected a line of totals`);
    numbers.push(Number(total[1]));
  }
  return pair(result.stdout, numbers);
}

async function underEmulation(
  isa: 'neon' | 'neon_dotprod',
  folder: string,
  gcc: string | undefined,
): Promise<Counted> {
  // The emulator that is linked dynamically: the static one takes no plugins.
  const reason = noEmulation ?? missing('qemu-aarch64');
  if (reason !== undefined) throw new CannotCount(reason);
  const version = /version (\d+)/.exec((await run('qemu-aarch64', ['--version'])).stdout)?.[1] ?? '?';
  if (version !== '7' && version !== '8')
    throw new CannotCount(`the plugin is for qemu 7 and 8, qemu-aarch64 is ${version}`);
  await requireGcc('aarch64-linux-gnu-g++', gcc);
  const built = await buildArm64();
  if (built.code !== 0) throw new Error(built.stdout + built.stderr);
  const plugin = join(folder, 'counter.so');
  const source = join(root, 'test/native/instructions/counter.cpp');
  const compiled = await run(compiler(), ['-std=c++20', '-O2', '-shared', '-fPIC', source, '-o', plugin]);
  if (compiled.code !== 0) throw new Error(compiled.stderr);
  const out = join(folder, 'counts');
  const cpu = isa === 'neon' ? 'cortex-a72' : 'cortex-a76';
  const emulator = ['-cpu', cpu, '-L', '/usr/aarch64-linux-gnu', '-plugin', `${plugin},out=${out}`];
  const args = [...emulator, programPath(arm64Folder, program), isa];
  const result = await run('qemu-aarch64', args, { timeoutMs });
  if (result.code !== 0) throw new Error(`qemu-aarch64: ${result.stderr}`);
  const numbers = readFileSync(out, 'utf8').trim().split('\n').map(Number);
  return pair(result.stdout, numbers);
}

/**
 * Builds and counts.
 *
 * @param gcc  the compiler's version that counts are asked of; any when undefined
 * @throws CannotCount when a tool is missing here
 */
export async function count(isa: Isa, gcc?: string): Promise<Counted> {
  const folder = mkdtempSync(join(tmpdir(), 'spiked-'));
  try {
    return isa === 'avx2' ? await underCallgrind(folder, gcc) : await underEmulation(isa, folder, gcc);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What is wrong with `found`, a line each: kernel, expected, found. */
export function differences(isa: Isa, found: Counts, expected: Counts, tolerance: number): string[] {
  const names = [...new Set([...Object.keys(expected), ...Object.keys(found)])];
  return names.flatMap((name) => {
    const [wanted, got] = [expected[name], found[name]];
    if (wanted !== undefined && got !== undefined && Math.abs(got - wanted) <= tolerance * wanted) return [];
    const change =
      wanted !== undefined && got !== undefined ? ` (${(100 * (got / wanted - 1)).toFixed(1)} %)` : '';
    return [
      `${isa} ${name}: expected ${String(wanted ?? 'no such case')} instructions, found ${String(got ?? 'none')}${change}`,
    ];
  });
}

/** docs/bench/kernels-neon-instructions.json from the expected counts: instructions for 16 weights. */
export function neonReport({ gcc, weights, counts }: Expected): unknown {
  const per16 = (isa: Isa, name: string): number =>
    Number(((16 * (counts[isa][name] ?? NaN)) / (weights[name] ?? NaN)).toFixed(2));
  const both = (name: string) => ({ neon: per16('neon', name), neon_dotprod: per16('neon_dotprod', name) });
  const products = Object.keys(weights).filter((name) => !name.includes(' ') && `${name} x32` in weights);
  const others = Object.keys(weights).filter((name) => !name.includes(' ') && !(`${name} x32` in weights));
  return {
    bench: 'kernel instructions',
    compiler: `GCC ${gcc}, -O3`,
    what: 'instructions executed for 16 weights, whole calls: rows of 1,536 columns, 64 of them; 128 active columns of 1,536 rows',
    products: products.map((kernel) => ({
      kernel,
      one_token: both(kernel),
      of_32_tokens: both(`${kernel} x32`),
    })),
    columns: others.map((kernel) => ({ kernel, ...both(kernel) })),
  };
}
