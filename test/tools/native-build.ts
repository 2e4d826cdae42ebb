import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './paths.js';
import { run } from './process.js';
import { byExit, fail, pass, type StageResult } from './report.js';

const buildMs = 1_200_000;
const runMs = 600_000;

/** Builds the native test programs into `folder` of the checkout. A failure is a failed check with cmake's output. */
export async function buildPrograms(
  folder: string,
  defines: Readonly<Record<string, string>>,
  compiler?: string,
): Promise<StageResult> {
  const out = join(root, folder);
  mkdirSync(out, { recursive: true });
  const values = Object.entries({ SPIKED_TOOLS: 'ON', ...defines }).map(
    ([key, value]) => `-D${key}=${value}`,
  );
  const env = compiler === undefined ? {} : { CXX: compiler };
  const configured = await run('cmake', ['-S', root, '-B', out, ...values], { env, timeoutMs: buildMs });
  if (configured.code !== 0) return byExit(configured, `cmake -B ${folder}`);
  const jobs = String(availableParallelism());
  return byExit(
    await run('cmake', ['--build', out, '--parallel', jobs], { timeoutMs: buildMs }),
    `building ${folder}`,
  );
}

export function programPath(folder: string, program: string): string {
  return join(root, folder, 'test/native', program);
}

export interface ProgramOptions {
  /** A command in front of the program: an emulator. */
  launcher?: readonly string[];
}

/** Runs a program of test/native, whose last line is `N passed, N failed`. */
export async function runProgram(
  folder: string,
  program: string,
  args: readonly string[],
  { launcher = [] }: ProgramOptions = {},
): Promise<StageResult> {
  const path = programPath(folder, program);
  if (!existsSync(path)) return fail(`${path}: not built\n`);
  const [command = path, ...rest] = [...launcher, path, ...args];
  const result = await run(command, rest, { cwd: root, timeoutMs: runMs });
  const counts = /^(\d+) passed, (\d+) failed\s*$/m.exec(result.stdout.split('\n').slice(-3).join('\n'));
  const title = `${folder}/${program} ${args.join(' ')}`;
  if (counts === null)
    return fail(`${title}: no line of counts\n${byExit(result, title).output}${result.stdout}`);
  const [passed, failed] = [Number(counts[1]), Number(counts[2])];
  if (result.code === 0 && failed === 0 && passed > 0) return pass(passed);
  return { passed, failed: Math.max(failed, 1), skips: [], output: byExit(result, title).output };
}

/** A program that has to die, saying something that matches: how a planted fault shows. */
export async function mustFail(
  folder: string,
  program: string,
  args: readonly string[],
  said: RegExp,
  env: Record<string, string> = {},
): Promise<StageResult> {
  const result = await run(programPath(folder, program), args, { cwd: root, env, timeoutMs: runMs });
  const title = `${folder}/${program} ${args.join(' ')}: a planted fault`;
  if (result.code === 0) return fail(`${title} went unnoticed\n`);
  if (!said.test(result.stderr)) return fail(`${title}: expected ${String(said)}\n${result.stderr}`);
  return pass();
}

/** Whether `compiler` can build and run a program with these flags: the runtime libraries may be missing. */
export async function canBuild(compiler: string, flags: readonly string[], source: string): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'spiked-'));
  try {
    const file = join(folder, 'probe.cpp');
    const program = join(folder, 'probe');
    writeFileSync(file, source);
    const built = await run(compiler, ['-std=c++20', ...flags, file, '-o', program]);
    return built.code === 0 && (await run(program, ['-runs=1'], { timeoutMs: 20_000 })).code === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
