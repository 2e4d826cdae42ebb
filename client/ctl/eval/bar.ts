import { SingleBar } from 'cli-progress';
import { perplexityOf, type Totals } from './perplexity.js';

export interface EvalBar {
  show: (totals: Totals) => void;
  end: () => void;
}

/** Windows, tokens a second, the perplexity so far and the time left, on a terminal; nothing in a pipe or a log. */
export function evalBar(windows: number, from: Totals): EvalBar {
  if (!process.stderr.isTTY) return { show: () => undefined, end: () => undefined };
  const started = performance.now();
  const bar = new SingleBar({
    stream: process.stderr,
    format:
      '{bar} {value} of {total} windows | {rate} tokens/s | perplexity {perplexity} | {eta_formatted} left',
    hideCursor: true,
    clearOnComplete: true,
  });
  bar.start(windows, from.windows, { rate: '-', perplexity: '-' });
  return {
    show(totals) {
      const seconds = (performance.now() - started) / 1000;
      bar.update(totals.windows, {
        rate: ((totals.fed - from.fed) / seconds).toFixed(0),
        perplexity: perplexityOf(totals).toFixed(4),
      });
    },
    end: () => {
      bar.stop();
    },
  };
}
