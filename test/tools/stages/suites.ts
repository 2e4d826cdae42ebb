import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runInLanes } from '../lanes.js';
import { root, sourceFiles } from '../paths.js';
import { run } from '../process.js';
import { add, fail, skip, type RunnerOptions, type Stage, type StageResult } from '../report.js';
import { readSummary } from '../uvu-summary.js';

const hardware = 'test/hardware/';
/** Emulation is some twenty times slower than the machine it runs on. */
const slow = /^test\/(arm64|e2e)\//;

/**
 * Files that run beside the others: they spend most of their time waiting, for a meter's next value, a silence, a pause, or for processes
 * that they start one after the other. No test may depend on how busy the machine is, but a measurement whose figures are compared belongs
 * with those that compute. arm64/native computes, as long as the other emulated files together: it is here so that they share the cores.
 */
const waiting =
  /^test\/(arm64\/native|power\/(calibrate\/calibrate|ctl|experiment|meters|simulator)|systemd\/service|ctl\/(doctor|energy-|eval|run\.)|daemon\/(service-manager|socket|state-grid))/;

/** Files of a quarter of a minute and more. */
const takesLong =
  /^test\/(e2e\/|systemd\/service|ctl\/(bench|energy-|eval|paper\.|run\.)|daemon\/socket|power\/ctl)/;

const timeoutMs = (file: string, long: boolean): number =>
  long ? 3_600_000 : slow.test(file) ? 900_000 : 600_000;

export function testFiles(): string[] {
  return sourceFiles().filter((path) => path.startsWith('test/') && path.endsWith('.test.ts'));
}

/** What a file's run found, and the line that says so; none for a file that was not run. */
interface Ran extends StageResult {
  readonly line: string;
}

async function runFile(file: string, options: RunnerOptions): Promise<Ran> {
  const name = file.replace(/^test\/(.*)\.test\.ts$/, '$1');
  if (file.startsWith(hardware) && process.env['SPIKED_TEST_HARDWARE'] !== '1') {
    return { ...skip(`${name}: SPIKED_TEST_HARDWARE=1 is not set`), line: '' };
  }
  const program = join(root, 'dist', file.replace(/\.ts$/, '.js'));
  if (!existsSync(program)) return { ...fail(`${file}: not compiled; run the build first\n`), line: '' };
  const result = await run(process.execPath, ['--enable-source-maps', program], {
    cwd: root,
    env: { FORCE_COLOR: '0', NO_COLOR: '1', SPIKED_TEST_LONG: options.long ? '1' : undefined },
    timeoutMs: timeoutMs(file, options.long),
  });
  const outcome = readSummary(result.stdout, result.code === 0);
  const seconds = (result.ms / 1000).toFixed(1);
  const state = outcome.failed > 0 ? 'FAIL' : 'ok';
  const end = result.timedOut ? 'timed out' : `exit ${String(result.code ?? result.signal)}`;
  return {
    line: `  ${state.padEnd(5)}${name} (${String(outcome.passed)} passed, ${seconds} s)\n`,
    passed: outcome.passed,
    failed: outcome.failed,
    skips: outcome.skips.map((text) => `${name}: ${text}`),
    output: outcome.failed > 0 ? `--- ${file} (${end})\n${result.stdout}${result.stderr}\n` : '',
  };
}

/** A stage that runs the test files `chosen` picks, each in its own process, in two lanes; told in the order of their names. */
export function suites(name: string, chosen: (file: string) => boolean): Stage & { files(): string[] } {
  const files = (): string[] => testFiles().filter(chosen);
  return {
    name,
    files,
    async run(options) {
      const wanted = files().filter(
        (file) => options.only.length === 0 || options.only.some((p) => name === p || file.includes(p)),
      );
      const results = await runInLanes(wanted, {
        waits: (file) => waiting.test(file),
        long: (file) => takesLong.test(file),
        run: (file) => runFile(file, options),
        tell: ({ line }) => process.stdout.write(line),
      });
      return add(...results);
    },
  };
}
