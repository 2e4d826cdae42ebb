import type { ServiceManager } from './manager.js';

/** A model on a slow card takes minutes; what takes longer hangs. */
export const longestLoadMs = 15 * 60_000;
const askEveryMs = 10_000;
const askForMs = 30_000;

/** Asks the service manager for more time again and again while `work` goes on, but no longer than a load may take. */
export async function withPatience<T>(manager: ServiceManager, work: Promise<T>): Promise<T> {
  const beganMs = performance.now();
  const ask = (): void => {
    if (performance.now() - beganMs < longestLoadMs) manager.needMoreTime(askForMs);
  };
  ask();
  const timer = setInterval(ask, askEveryMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
