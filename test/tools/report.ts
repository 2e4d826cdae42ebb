/** What one stage of the test command found. */
export interface StageResult {
  passed: number;
  failed: number;
  /** Where, then why. */
  skips: string[];
  /** Shown when something failed. */
  output: string;
}

export interface Stage {
  name: string;
  run(options: RunnerOptions): Promise<StageResult>;
}

export interface RunnerOptions {
  long: boolean;
  /** Names of stages and test files to run; empty: all. */
  only: readonly string[];
}

export const pass = (passed = 1): StageResult => ({ passed, failed: 0, skips: [], output: '' });
export const fail = (output: string, failed = 1): StageResult => ({ passed: 0, failed, skips: [], output });
export const skip = (...skips: string[]): StageResult => ({ passed: 0, failed: 0, skips, output: '' });

export function add(...parts: StageResult[]): StageResult {
  const total = pass(0);
  for (const part of parts) {
    total.passed += part.passed;
    total.failed += part.failed;
    total.skips.push(...part.skips);
    total.output += part.output;
  }
  return total;
}

/** One check that is a program's exit status. */
export function byExit(
  result: { code: number | null; timedOut: boolean; stdout: string; stderr: string },
  what: string,
): StageResult {
  if (result.code === 0) return pass();
  const end = result.timedOut ? 'timed out' : `ended with ${String(result.code ?? 'a signal')}`;
  return fail(`${what} ${end}\n${result.stdout}${result.stderr}`);
}
