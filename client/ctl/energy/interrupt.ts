import { constants } from 'node:os';
import { SpikedError } from '../../protocol/errors.js';

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs work whose signal aborts with ERR_CANCELLED when the process is told to stop: it then ends what it began in its own order. A second
 * word ends the process at once.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const handlers = stopSignals.map((name) => {
    const handler = () => {
      if (controller.signal.aborted) process.exit(128 + constants.signals[name]);
      controller.abort(new SpikedError('ERR_CANCELLED', `stopped by ${name}`));
    };
    process.on(name, handler);
    return [name, handler] as const;
  });
  try {
    return await work(controller.signal);
  } finally {
    for (const [name, handler] of handlers) process.off(name, handler);
  }
}
