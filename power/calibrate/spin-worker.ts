/** A thread that spins while it is told to, and sleeps without a timer while not. */
import { workerData } from 'node:worker_threads';
import { state } from './load-state.js';

const told = new Int32Array(workerData as SharedArrayBuffer);
for (;;) {
  Atomics.wait(told, 0, state.rest);
  if (Atomics.load(told, 0) === state.end) break;
  while (Atomics.load(told, 0) === state.work);
}
