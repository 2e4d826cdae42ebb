import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { isErrorCode, SpikedError } from '../../../protocol/errors.js';
import type { Repetition } from './results.js';
import { RssSampler } from './rss.js';
import type { Job } from './settings.js';

const program = fileURLToPath(new URL('../../main.js', import.meta.url));

/**
 * Does a job in a fresh process, whose memory is sampled meanwhile.
 *
 * @param signal  ends the process at once
 * @throws SpikedError what the process reported; the signal's reason
 */
export async function runJob(job: Job, signal: AbortSignal): Promise<Repetition> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, [program, 'bench', 'measure'], { stdio: ['pipe', 'pipe', 'pipe'] });
  const kill = () => void child.kill('SIGKILL');
  signal.addEventListener('abort', kill);
  process.once('exit', kill);
  const exited = once(child, 'exit');
  // A process that ends before it has read its job is reported by its status.
  child.stdin.on('error', () => undefined);
  child.stdin.write(`${JSON.stringify(job)}\n`);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const sampler = new RssSampler(child.pid ?? 0);
  try {
    let answer: Partial<Repetition> = {};
    let sampledRssBytes = 0;
    for await (const line of createInterface({ input: child.stdout })) {
      if (answer.result === undefined) sampledRssBytes = await sampler.stop();
      answer = { ...answer, ...(JSON.parse(line) as Partial<Repetition>) };
    }
    await exited;
    signal.throwIfAborted();
    if (child.exitCode !== 0 || answer.result === undefined) throw reported(stderr, child);
    return { ...(answer as Repetition), sampled_rss_bytes: sampledRssBytes };
  } finally {
    kill();
    await sampler.stop();
    signal.removeEventListener('abort', kill);
    process.off('exit', kill);
  }
}

/** The child's own error line as an error of ours. */
function reported(stderr: string, { exitCode, signalCode }: ChildProcess): SpikedError {
  const [, code = '', message = ''] = /^spikectl: (ERR_\w+): (.*)$/m.exec(stderr) ?? [];
  if (isErrorCode(code)) return new SpikedError(code, message);
  const found = exitCode === null ? `signal ${signalCode ?? 'unknown'}` : `exit status ${exitCode}`;
  return new SpikedError(
    'ERR_INTERNAL',
    `a measuring process: expected a result, found ${found}: ${stderr.slice(-500)}`,
  );
}
