/** Resolves after the time, or at once when the signal is aborted. Never rejects. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** For bytes that came while this program stood still: timers run before them, so they get another turn. */
const stallMs = 10;

/** What the work gives; undefined after the time, or when the signal is aborted. Rejects as the work does. */
export function within<T>(work: Promise<T>, ms: number, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', none);
    };
    const none = (): void => {
      end();
      resolve(undefined);
    };
    let timer = setTimeout(() => (timer = setTimeout(none, stallMs)), Math.max(0, ms));
    signal.addEventListener('abort', none);
    work.then(
      (value) => {
        end();
        resolve(value);
      },
      (error: unknown) => {
        end();
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}
