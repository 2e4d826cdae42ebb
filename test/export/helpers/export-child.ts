/**
 * An export in a process of its own, for tests that measure or kill it.
 *
 *     node export-child.js CHECKPOINT OUT WEIGHTS [PAUSE_MS]
 *
 * Prints `baseline KIB`, `tensor NAME` as each is written (then pauses, so that there is time to kill it), and
 * `peak KIB` at the end.
 */
import { readFileSync, writeSync } from 'node:fs';
import { exportModel } from '../../../export/export.js';
import type { Weights } from '../../../export/symboliclight/storage-plan.js';

// The process's own peak since its exec: getrusage would start at what the parent held when it forked.
function statusKib(field: 'VmRSS' | 'VmHWM'): number {
  return Number(
    new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1],
  );
}

const say = (line: string): void => void writeSync(1, `${line}\n`);

const [checkpoint = '', out = '', weights = '', pauseMs = '0'] = process.argv.slice(2);
say(`baseline ${statusKib('VmRSS')}`);
await exportModel({
  checkpoint,
  out,
  weights: weights as Weights,
  onProgress: ({ tensor }) => {
    say(`tensor ${tensor}`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(pauseMs));
  },
});
say(`peak ${statusKib('VmHWM')}`);
