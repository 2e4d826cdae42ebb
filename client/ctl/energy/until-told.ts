/** Why a measurement without an end of its own ended. */
export type Ending = 'interrupted' | 'time' | 'failed';

/** Resolves at Ctrl-C (or SIGTERM), after so many seconds, or when `failed` does. A second Ctrl-C ends the process. */
export async function untilTold(
  stop: AbortSignal,
  seconds: number | undefined,
  failed: Promise<unknown>,
): Promise<Ending> {
  let timer: NodeJS.Timeout | undefined;
  let interrupt: (() => void) | undefined;
  const endings: Promise<Ending>[] = [
    new Promise<Ending>((resolve) => {
      interrupt = () => resolve('interrupted');
      if (stop.aborted) interrupt();
      stop.addEventListener('abort', interrupt);
    }),
    failed.then(() => 'failed' as const),
  ];
  if (seconds !== undefined)
    endings.push(new Promise((resolve) => (timer = setTimeout(() => resolve('time'), seconds * 1000))));
  try {
    return await Promise.race(endings);
  } finally {
    clearTimeout(timer);
    if (interrupt) stop.removeEventListener('abort', interrupt);
  }
}

/** Runs work with a signal that Ctrl-C and SIGTERM abort, once: the second one finds no listener and ends the process. */
export async function withInterrupt<T>(work: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const abort = (): void => stop.abort();
  process.once('SIGINT', abort);
  process.once('SIGTERM', abort);
  try {
    return await work(stop.signal);
  } finally {
    process.off('SIGINT', abort);
    process.off('SIGTERM', abort);
  }
}
