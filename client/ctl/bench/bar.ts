import { SingleBar } from 'cli-progress';

export interface BenchBar {
  /** Before a step that is called so. */
  step: (what: string) => void;
  end: () => void;
}

/** Steps done of all, and the time taken, on a terminal; nothing in a pipe or a log. */
export function benchBar(steps: number): BenchBar {
  if (!process.stderr.isTTY) return { step: () => undefined, end: () => undefined };
  const bar = new SingleBar({
    stream: process.stderr,
    format: '{bar} {value} of {total} | {what} | {duration_formatted}',
    hideCursor: true,
    clearOnComplete: true,
  });
  let begun = 0;
  bar.start(steps, 0, { what: '' });
  return {
    step: (what) => {
      bar.update(begun++, { what });
    },
    end: () => {
      bar.stop();
    },
  };
}

/** Runs work with a bar that goes away whatever happens. */
export async function withBar<T>(steps: number, work: (bar: BenchBar) => Promise<T>): Promise<T> {
  const bar = benchBar(steps);
  try {
    return await work(bar);
  } finally {
    bar.end();
  }
}
