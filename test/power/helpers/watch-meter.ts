import { setTimeout as sleep } from 'node:timers/promises';
import type { Frame, Meter, Sample } from '../../../power/meters/meter.js';
import { SpikedError } from '../../../client/protocol/errors.js';

export interface Seen {
  readonly samples: Sample[];
  readonly frames: Frame[];
}

/** Starts a meter and keeps everything that it pushes. */
export async function watch(meter: Meter): Promise<Seen> {
  const seen: Seen = { samples: [], frames: [] };
  await meter.start({
    sample: (sample) => void seen.samples.push(sample),
    frame: (frame) => void seen.frames.push(frame),
  });
  return seen;
}

/** Waits for something to come about; a test that waits in vain fails with its name. */
export async function until(what: string, done: () => boolean, timeoutMs = 10_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!done()) {
    if (performance.now() > end) throw new Error(`${what}: did not come about in ${timeoutMs} ms`);
    await sleep(5);
  }
}

/** The error that a promise is rejected with; anything else fails the test. */
export async function errorOf(work: Promise<unknown>): Promise<SpikedError> {
  const error = await work.then(
    () => new Error('no error'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof SpikedError) return error;
  throw error;
}
