/** `energy run` in its own process, with real daemons and a meter on a pseudo-terminal. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readJournal } from '../../../power/experiment/journal.js';
import type { JournalEntry } from '../../../power/experiment/record.js';
import { simulated } from '../../power/helpers/simulated.js';
import { assert } from '../../tools/suite.js';
import { program } from './spikectl.js';

const periodMs = 100;
/** The request of an arm whose head is not the full one. */
export const gate = { head: { mode: 'gate', scope: 'head', threshold: 4 } };
/** One thread: the daemon is not all that runs beside the meter. */
const daemon = { threads: 1 };

/**
 * Writes a plan with runs as short as a meter of 10 Hz allows; returns its path. A busy machine may lose that meter now and then, or be
 * faster than the pilot saw: the block is then done again.
 */
export function writePlan(path: string, change: object = {}): string {
  const plan = {
    name: 'test',
    prompt: 'It was',
    min_seconds: 1.5,
    arms: [
      { name: 'full', daemon },
      { name: 'gate', daemon, request: gate },
    ],
    blocks: 2,
    redo_blocks: 20,
    trim_s: 0,
    idle_s: 0,
    cool_down_s: 0.1,
    warm_up: { slope_percent_per_min: 1000, min_s: 0, max_s: 0 },
    ...change,
  };
  writeFileSync(path, JSON.stringify(plan));
  return path;
}

/** A simulated PZEM of 10 Hz: its address, and what unplugs it. Whoever uses it calls `stopSimulated` at the end. */
export function pzem(): { address: string; stop: () => void } {
  const meter = simulated('pzem', { watts: 10.3, measuring: { periodMs } });
  return { address: `pzem:${meter.path}?update_ms=${periodMs}`, stop: () => meter.stop() };
}

export interface Begun {
  readonly folder: string;
  readonly child: ChildProcess;
  /** What it has said so far. */
  readonly stderr: () => string;
  readonly ended: Promise<{ code: number | null; stderr: string }>;
}

export function begin(plan: string, folder: string, meter: string, ...more: string[]): Begun {
  const args = [program, 'energy', 'run', plan, '-o', folder, '--meter', meter, ...more];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const timer = setTimeout(() => child.kill('SIGKILL'), 120_000);
  const ended = once(child, 'close').then(([code]) => {
    clearTimeout(timer);
    return { code: code as number | null, stderr };
  });
  return { folder, child, stderr: () => stderr, ended };
}

/** Waits until the journal holds what is asked for; returns it. */
export async function until(
  { folder, child, stderr }: Begun,
  holds: (entries: JournalEntry[]) => boolean,
): Promise<JournalEntry[]> {
  for (;;) {
    const entries = existsSync(join(folder, 'journal.jsonl')) ? await readJournal(folder) : [];
    if (holds(entries)) return entries;
    assert.is(child.exitCode, null, `ended before that: ${stderr()}`);
    await sleep(50);
  }
}

/** Whether a block is open and has a good run: one that was too short ends its block, and a pilot follows. */
export const isUnderWay = (entries: readonly JournalEntry[], block: number): boolean => {
  const last = entries.at(-1);
  return last?.kind === 'run' && last.block === block && last.reasons.length === 0;
};

export const isDone = (entries: readonly JournalEntry[], block: number): boolean =>
  entries.some((entry) => entry.kind === 'block' && entry.block === block && entry.done);

/** Processes that it started and that are still there. */
export function childrenOf({ child }: Begun): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(parent) === child.pid ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}
