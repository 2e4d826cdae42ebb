/**
 * An export in a process of its own, for tests that measure or kill it.
 *
 *     node export-child.js CHECKPOINT OUT WEIGHTS
 *
 * Prints `baseline KIB`, `tensor NAME` as each is written, and `peak KIB` at the end.
 */
import { readFileSync, writeSync } from 'node:fs';
import { exportModel } from '../../../export/export.js';
import type { Weights } from '../../../export/symboliclight/stored-tensor.js';

// The process's own peak since its exec: getrusage would start at what the parent held when it forked.
function statusKib(field: 'VmRSS' | 'VmHWM'): number {
  return Number(
    new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1],
  );
}

const say = (line: string): void => void writeSync(1, `${line}\n`);

const [checkpoint = '', out = '', weights = ''] = process.argv.slice(2);
say(`baseline ${statusKib('VmRSS')}`);
await exportModel({
  checkpoint,
  out,
  weights: weights as Weights,
  onProgress: ({ tensor }) => say(`tensor ${tensor}`),
});
say(`peak ${statusKib('VmHWM')}`);
