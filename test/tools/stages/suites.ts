import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root, sourceFiles } from '../paths.js';
import { run } from '../process.js';
import { add, fail, skip, type RunnerOptions, type Stage, type StageResult } from '../report.js';
import { readSummary } from '../uvu-summary.js';

const hardware = 'test/hardware/';
/** Emulation is some twenty times slower than the machine it runs on. */
const slow = /^test\/(arm64|e2e)\//;

const timeoutMs = (file: string, long: boolean): number =>
  long ? 3_600_000 : slow.test(file) ? 900_000 : 600_000;

export function testFiles(): string[] {
  return sourceFiles().filter((path) => path.startsWith('test/') && path.endsWith('.test.ts'));
}

async function runFile(file: string, options: RunnerOptions): Promise<StageResult> {
  const name = file.replace(/^test\/(.*)\.test\.ts$/, '$1');
  if (file.startsWith(hardware) && process.env['SPIKED_TEST_HARDWARE'] !== '1') {
    return skip(`${name}: SPIKED_TEST_HARDWARE=1 is not set`);
  }
  const program = join(root, 'dist', file.replace(/\.ts$/, '.js'));
  if (!existsSync(program)) return fail(`${file}: not compiled; run the build first\n`);
  const result = await run(process.execPath, ['--enable-source-maps', program], {
    cwd: root,
    env: { FORCE_COLOR: '0', NO_COLOR: '1', SPIKED_TEST_LONG: options.long ? '1' : undefined },
    timeoutMs: timeoutMs(file, options.long),
  });
  const outcome = readSummary(result.stdout, result.code === 0);
  const seconds = (result.ms / 1000).toFixed(1);
  const state = outcome.failed > 0 ? 'FAIL' : 'ok';
  process.stdout.write(`  ${state.padEnd(5)}${name} (${String(outcome.passed)} passed, ${seconds} s)\n`);
  const end = result.timedOut ? 'timed out' : `exit ${String(result.code ?? result.signal)}`;
  return {
    passed: outcome.passed,
    failed: outcome.failed,
    skips: outcome.skips.map((text) => `${name}: ${text}`),
    output: outcome.failed > 0 ? `--- ${file} (${end})\n${result.stdout}${result.stderr}\n` : '',
  };
}

/** A stage that runs the test files `chosen` picks, each in its own process. */
export function suites(name: string, chosen: (file: string) => boolean): Stage & { files(): string[] } {
  const files = (): string[] => testFiles().filter(chosen);
  return {
    name,
    files,
    async run(options) {
      const wanted = files().filter(
        (file) => options.only.length === 0 || options.only.some((p) => name === p || file.includes(p)),
      );
      const results: StageResult[] = [];
      for (const file of wanted) results.push(await runFile(file, options));
      return add(...results);
    },
  };
}
