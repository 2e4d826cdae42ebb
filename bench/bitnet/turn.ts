import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { SpikedError } from '../../client/protocol/errors.js';
import { spreadOf } from '../../client/ctl/bench/stats.js';

/** What a contender's process held, as Linux counts it. */
export interface Memory {
  /** Resident set: the median of the samples of the second half of its life, when it decodes. */
  steadyBytes: number;
  /** Of it, what is no mapped file. */
  steadyAnonBytes: number;
  /** Largest resident set. */
  peakBytes: number;
}

const sampleEveryMs = 50;

/**
 * Runs a program to its end and watches its memory.
 *
 * @returns its standard output, and its memory
 * @throws SpikedError ERR_TOOL_MISSING when it cannot be started, ERR_TOOL_FAILED when it ends with another status than 0 (with the
 *   end of its standard error) or too soon to be watched
 */
export async function watched(
  command: string,
  args: readonly string[],
): Promise<{ output: string; memory: Memory }> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let complaint = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (output += part));
  child.stderr
    .setEncoding('utf8')
    .on('data', (part: string) => (complaint = (complaint + part).slice(-2000)));
  const samples: Memory[] = [];
  const sampler = setInterval(() => {
    const sample = child.pid === undefined ? null : memoryOf(child.pid);
    if (sample !== null) samples.push(sample);
  }, sampleEveryMs);
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    if (code !== 0)
      throw new SpikedError(
        'ERR_TOOL_FAILED',
        `${[command, ...args].join(' ')}: expected exit status 0, found ${code ?? signal ?? 'none'}: ${complaint.trim()}`,
      );
  } catch (error) {
    if (error instanceof SpikedError) throw error;
    throw new SpikedError(
      'ERR_TOOL_MISSING',
      `${command}: expected a program, found ${(error as Error).message}`,
      { cause: error },
    );
  } finally {
    clearInterval(sampler);
  }
  return { output, memory: summary(command, samples) };
}

function summary(command: string, samples: readonly Memory[]): Memory {
  const late = samples.slice(samples.length >> 1);
  if (late.length === 0)
    throw new SpikedError(
      'ERR_TOOL_FAILED',
      `${command}: expected it to run for ${sampleEveryMs} ms and /proc to tell its memory, found neither`,
    );
  const median = (key: keyof Memory) => spreadOf(late.map((sample) => sample[key])).median;
  return {
    steadyBytes: median('steadyBytes'),
    steadyAnonBytes: median('steadyAnonBytes'),
    peakBytes: Math.max(...samples.map(({ peakBytes }) => peakBytes)),
  };
}

/** Null when the process is gone or is not yet the program. */
function memoryOf(pid: number): Memory | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return null;
  }
  const bytes = (key: string) =>
    1024 * Number(new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? NaN);
  const sample = {
    steadyBytes: bytes('VmRSS'),
    steadyAnonBytes: bytes('RssAnon'),
    peakBytes: bytes('VmHWM'),
  };
  return sample.peakBytes > 0 ? sample : null;
}
