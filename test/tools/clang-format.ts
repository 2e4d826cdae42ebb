import { pathToFileURL } from 'node:url';
import { root, sourceFiles } from './paths.js';
import { missing, run, type RunResult } from './process.js';

/** Versions disagree about details, so one decides: Debian 12's. */
const major = 14;

/** Why the C++ format cannot be checked here, or undefined. */
export async function clangFormatMissing(): Promise<string | undefined> {
  const reason = missing('clang-format');
  if (reason !== undefined) return reason;
  const { stdout } = await run('clang-format', ['--version']);
  const found = /version (\d+)/.exec(stdout)?.[1] ?? 'unknown';
  return found === String(major)
    ? undefined
    : `clang-format ${major} is needed, version ${found} is installed`;
}

/** Runs clang-format with `args` over every C and C++ file of the checkout. */
export function clangFormat(args: readonly string[]): Promise<RunResult> {
  const files = sourceFiles().filter((path) => /\.(cpp|h|c)$/.test(path));
  return run('clang-format', [...args, ...files], { cwd: root });
}

// `npm run format` calls this file with --write.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const reason = await clangFormatMissing();
  if (reason !== undefined) {
    process.stderr.write(`C++ files left as they are: ${reason}\n`);
  } else {
    const result = await clangFormat(process.argv.includes('--write') ? ['-i'] : ['--dry-run', '-Werror']);
    process.stderr.write(result.stderr);
    process.exitCode = result.code ?? 1;
  }
}
