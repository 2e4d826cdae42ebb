/**
 * Builds the native addon into build/Release/spiked.node: `npm run build:native`.
 *
 *     node dist/native/host/build.js [--arch arm64] [--out DIR] [--define NAME=VALUE]...
 *
 * --arch arm64 builds for 64-bit ARM on another machine, into build-arm64/. --define sets a CMake variable. CXX chooses the
 * compiler. Silent when there is nothing to do; needs no network.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { SpikedError } from '../../client/protocol/errors.js';
import { checkMachine } from './build-elf.js';
import { findBuildTools, type BuildTools } from './build-tools.js';
import { packageRoot } from './package-root.js';

interface Options {
  arch: 'x64' | 'arm64';
  out: string;
  defines: string[];
}

function readOptions(): Options {
  try {
    const { values } = parseArgs({
      options: {
        arch: { type: 'string', default: process.arch },
        out: { type: 'string' },
        define: { type: 'string', multiple: true, default: [] },
      },
    });
    const arch = values.arch;
    if (arch !== 'x64' && arch !== 'arm64')
      throw new SpikedError('ERR_USAGE', `--arch: expected x64 or arm64, found ${arch}`);
    if (arch !== process.arch && arch !== 'arm64')
      throw new SpikedError(
        'ERR_USAGE',
        `--arch: expected arm64 or this machine's ${process.arch}, found ${arch}`,
      );
    const wrong = values.define.find((define) => !/^\w+=/.test(define));
    if (wrong !== undefined)
      throw new SpikedError('ERR_USAGE', `--define: expected NAME=VALUE, found ${wrong}`);
    const usual = arch === process.arch ? 'build' : 'build-arm64';
    const out = values.out === undefined ? join(packageRoot, usual) : resolve(values.out);
    return { arch, out, defines: values.define };
  } catch (error) {
    if (error instanceof SpikedError) throw error;
    throw new SpikedError('ERR_USAGE', error instanceof Error ? error.message : String(error));
  }
}

function git(...args: string[]): string | undefined {
  const result = spawnSync('git', args, { cwd: packageRoot, encoding: 'utf8' });
  return result.status === 0 ? result.stdout.trim() : undefined;
}

/** The checkout's commit; "unknown" outside a checkout, also inside a folder of somebody else's. */
function commit(): string {
  if (git('rev-parse', '--show-toplevel') !== packageRoot) return 'unknown';
  return git('rev-parse', '--short=12', 'HEAD') ?? 'unknown';
}

function cmakeJs(step: string, args: readonly string[]): void {
  const program = createRequire(join(packageRoot, 'package.json')).resolve('cmake-js/bin/cmake-js');
  const result = spawnSync(process.execPath, [program, step, '--log-level', 'error', ...args], {
    cwd: packageRoot,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (result.status === 0) return;
  process.stderr.write(`${result.stdout}${result.stderr}`);
  const how = result.error?.message ?? `exit status ${String(result.status ?? result.signal)}`;
  throw new SpikedError(
    'ERR_INTERNAL',
    `native build: expected cmake to ${step} it, found ${how} (its output is above)`,
  );
}

function configureArguments({ arch, defines }: Options, { compiler, generator }: BuildTools): string[] {
  const values = [`SPIKED_COMMIT=${commit()}`, ...defines];
  const args = ['--config', 'Release', '--arch', arch, '--generator', generator];
  if (arch !== process.arch) values.push(`CMAKE_TOOLCHAIN_FILE=${join(packageRoot, 'native/aarch64.cmake')}`);
  // With a launcher in front (CXX="ccache g++") cmake reads CXX itself.
  else if (compiler.command.length === 1)
    args.push('--cxx', compiler.command.join(), '--cc', compiler.command.join());
  return [...args, ...values.map((value) => `--CD${value}`)];
}

/** Configures again only when something that it depends on changed; another compiler or place needs a fresh folder. */
function configure(options: Options, tools: BuildTools): void {
  const stampFile = join(options.out, 'spiked-configured.json');
  const args = configureArguments(options, tools);
  const base = JSON.stringify([
    packageRoot,
    tools.compiler.identity,
    args.filter((arg) => !arg.startsWith('--CDSPIKED_COMMIT')),
  ]);
  const stamp = { base, args };
  const old = existsSync(stampFile) ? readFileSync(stampFile, 'utf8') : '';
  if (old === JSON.stringify(stamp)) return;
  if (!old.includes(JSON.stringify(base))) rmSync(options.out, { recursive: true, force: true });
  process.stderr.write('spiked: building the native addon\n');
  mkdirSync(options.out, { recursive: true });
  cmakeJs('configure', ['--out', options.out, ...args]);
  writeFileSync(stampFile, JSON.stringify(stamp));
}

/** A compiler takes up to a gigabyte: small boards have more cores than memory. */
const nJobs = (): number => Math.max(1, Math.min(availableParallelism(), Math.floor(totalmem() / 2 ** 30)));

try {
  const options = readOptions();
  const tools = findBuildTools(options.arch !== process.arch);
  configure(options, tools);
  cmakeJs('build', ['--out', options.out, '--config', 'Release', '--parallel', String(nJobs())]);
  checkMachine(join(options.out, 'Release', 'spiked.node'), options.arch);
} catch (error) {
  if (!(error instanceof SpikedError)) throw error;
  process.stderr.write(`spiked build: ${error.code}: ${error.message}\n`);
  process.exitCode = 1;
}
