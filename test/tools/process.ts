import { spawn, type ChildProcess } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface RunOptions {
  cwd?: string | undefined;
  /** Added to this process's environment; undefined removes a variable. */
  env?: Record<string, string | undefined> | undefined;
  input?: string | Uint8Array | undefined;
  timeoutMs?: number | undefined;
}

export interface RunResult {
  /** null when a signal ended it. */
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  timedOut: boolean;
  ms: number;
}

function environment(extra: RunOptions['env']): NodeJS.ProcessEnv {
  const env = { ...process.env };
  for (const [key, value] of Object.entries(extra ?? {})) {
    // eslint-disable-next-line @typescript-eslint/no-dynamic-delete
    if (value === undefined) delete env[key];
    else env[key] = value;
  }
  return env;
}

/** Ends a child started with `detached: true` and everything it started. */
export function killGroup(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    child.kill(signal);
  }
}

/**
 * Runs a program to its end and collects its output; a timeout ends it with its whole process group.
 *
 * @throws when the program cannot be started
 */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: environment(options.env),
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    let timedOut = false;
    const timer =
      options.timeoutMs === undefined
        ? undefined
        : setTimeout(() => {
            timedOut = true;
            killGroup(child);
          }, options.timeoutMs);
    child.stdout.on('data', (chunk: Buffer) => chunks.stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.stderr.push(chunk));
    child.stdin.on('error', () => undefined); // a program may end without reading its input
    child.stdin.end(options.input);
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      const ms = performance.now() - started;
      const stdout = Buffer.concat(chunks.stdout).toString();
      const stderr = Buffer.concat(chunks.stderr).toString();
      resolve({ code, signal, stdout, stderr, timedOut, ms });
    });
  });
}

/** The path of a program in PATH, or undefined. */
export function which(program: string): string | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, program);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // not here
    }
  }
  return undefined;
}

/** Why a test cannot run: the first of `programs` that is not in PATH, or undefined when all are. */
export function missing(...programs: string[]): string | undefined {
  const absent = programs.find((program) => which(program) === undefined);
  return absent === undefined ? undefined : `${absent} is not installed`;
}
