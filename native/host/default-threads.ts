import { availableParallelism } from 'node:os';
import { addon } from './addon.js';

/**
 * Threads that an engine should have where nobody says: one for each CPU of the list, or for each big core, but no more than the system lets run.
 *
 * @param cpus  as openEngine takes them
 * @throws SpikedError ERR_INVALID_ARGUMENT
 */
export function defaultThreads(cpus?: string): number {
  const engine = addon().openEngine({ cpus });
  try {
    return Math.min(engine.threads, Math.max(1, availableParallelism()));
  } finally {
    engine.close();
  }
}
