import { SpikedError } from '../protocol/errors.js';

/**
 * Runs work that ends by itself with ERR_CANCELLED when the process is told to stop: with a listener here the signal
 * does not kill the process first, so the error is reported and the exit status is ours.
 */
export async function finishOnInterrupt<T>(work: () => Promise<T>): Promise<T> {
  const ignore = () => undefined;
  process.on('SIGINT', ignore);
  try {
    return await work();
  } finally {
    process.off('SIGINT', ignore);
  }
}

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs work with a signal that a request to stop the process aborts, with ERR_CANCELLED as its reason. */
export async function cancelOnStop<T>(what: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const abort = () => {
    stop.abort(new SpikedError('ERR_CANCELLED', `${what}: cancelled`));
  };
  for (const signal of stopSignals) process.on(signal, abort);
  try {
    return await work(stop.signal);
  } finally {
    for (const signal of stopSignals) process.off(signal, abort);
  }
}
