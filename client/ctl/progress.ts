import { SingleBar } from 'cli-progress';

export interface Progress {
  show: (progress: { tensor: string; writtenBytes: number; totalBytes: number }) => void;
  end: () => void;
}

/** A bar on a terminal; nothing in a pipe or a log. */
export function progressBar(): Progress {
  if (!process.stderr.isTTY) return { show: () => undefined, end: () => undefined };
  const bar = new SingleBar({
    stream: process.stderr,
    format: '{bar} {percentage}% | {value} of {total} MB | {tensor}',
    hideCursor: true,
    clearOnComplete: true,
  });
  let started = false;
  return {
    show({ tensor, writtenBytes, totalBytes }) {
      const [value, total] = [Math.round(writtenBytes / 1e6), Math.round(totalBytes / 1e6)];
      if (!started) bar.start(total, value, { tensor });
      else bar.update(value, { tensor });
      started = true;
    },
    end() {
      if (started) bar.stop();
    },
  };
}
