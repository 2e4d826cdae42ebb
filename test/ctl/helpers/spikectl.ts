import { join } from 'node:path';
import { assert, root, run, type RunOptions, type RunResult } from '../../tools/suite.js';

export const program = join(root, 'dist/client/ctl/main.js');
/** A socket path at which nobody listens, so that a daemon of this machine never answers a test. */
const nowhere = join(root, 'dist/test/ctl/no-daemon.sock');

/** Runs the command to its end. */
export function spikectl(args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  return run(process.execPath, [program, ...args], {
    timeoutMs: 120_000,
    ...options,
    env: { SPIKED_SOCKET: nowhere, ...options.env },
  });
}

/** Runs the command, which must succeed; returns its standard output. */
export async function output(args: readonly string[], options: RunOptions = {}): Promise<string> {
  const result = await spikectl(args, options);
  assert.is(result.code, 0, `spikectl ${args.join(' ')}: ${result.stderr}`);
  return result.stdout;
}

/** Runs the command with --json and parses its one line. */
export async function json(
  args: readonly string[],
  options: RunOptions = {},
): Promise<Record<string, unknown>> {
  return JSON.parse(await output([...args, '--json'], options)) as Record<string, unknown>;
}

/** Asserts that the command fails with this status and exactly one line on standard error, which it returns. */
export async function failure(args: readonly string[], code: number, error: string): Promise<string> {
  const { code: found, stderr } = await spikectl(args);
  assert.is(found, code, `spikectl ${args.join(' ')}: ${stderr}`);
  const lines = stderr.split('\n').filter((line) => line !== '' && !line.includes('private one'));
  assert.is(lines.length, 1, stderr);
  assert.ok(lines[0]?.startsWith(`spikectl: ${error}: `), stderr);
  return stderr;
}
