/** Why a measurement without an end of its own ended. */
export type Ending = 'interrupted' | 'time' | 'failed';

/** Resolves when the signal aborts, after so many seconds, or when `failed` does. */
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
