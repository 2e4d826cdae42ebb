import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { state } from './load-state.js';

/** Something that makes the machine draw more. */
export interface Load {
  /** Begins to work or rest; returns when it was told to, ns of CLOCK_MONOTONIC. */
  set(busy: boolean): bigint;
  stop(): Promise<void>;
}

/** A thread for every CPU that the process may use, spinning or asleep. Resolves when all of them are there. */
export async function spinningLoad(threads = availableParallelism()): Promise<Load> {
  const shared = new SharedArrayBuffer(4);
  const told = new Int32Array(shared);
  const workers = Array.from(
    { length: threads },
    () => new Worker(new URL('./spin-worker.js', import.meta.url), { workerData: shared }),
  );
  const tell = (what: number): bigint => {
    Atomics.store(told, 0, what);
    const tNs = process.hrtime.bigint();
    Atomics.notify(told, 0);
    return tNs;
  };
  await Promise.all(workers.map((worker) => once(worker, 'online')));
  return {
    set: (busy) => tell(busy ? state.work : state.rest),
    stop: async () => {
      tell(state.end);
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}
