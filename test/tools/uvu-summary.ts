/** Reads what a uvu test file printed. Nothing it prints is trusted to be complete: no summary is a failure. */

/** A skipped test with its reason; written by suite.ts, read here. */
export const skipMark = '# skip ';

export interface FileOutcome {
  passed: number;
  failed: number;
  /** One text a skipped test: suite, title, reason. */
  skips: string[];
}

// eslint-disable-next-line no-control-regex
const colour = /\u001b\[[0-9;]*m/g;

function lastNumber(text: string, label: string): number | undefined {
  const matches = [...text.matchAll(new RegExp(`^ {2}${label}:\\s+(\\d+)\\s*$`, 'gm'))];
  const value = matches.at(-1)?.[1];
  return value === undefined ? undefined : Number(value);
}

/** @param ended  exit code 0, no signal, no timeout */
export function readSummary(stdout: string, ended: boolean): FileOutcome {
  const text = stdout.replace(colour, '');
  const total = lastNumber(text, 'Total');
  const passed = lastNumber(text, 'Passed');
  const skipped = lastNumber(text, 'Skipped');
  const skips = text
    .split('\n')
    .filter((line) => line.startsWith(skipMark))
    .map((line) => line.slice(skipMark.length));
  if (total === undefined || passed === undefined || skipped === undefined || passed > total) {
    return { passed: passed ?? 0, failed: 1, skips };
  }
  // test.only, or uvu's own test.skip: a skip nobody explained is shown as one.
  while (skips.length < skipped) skips.push('no reason given');
  let failed = total - passed;
  if (failed === 0 && (!ended || (total === 0 && skips.length === 0))) failed = 1;
  return { passed, failed, skips };
}
