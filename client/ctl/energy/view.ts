import { SingleBar } from 'cli-progress';
import type { ExperimentEvent } from '../../../power/experiment/events.js';
import { remark } from '../output.js';
import { duration, figure } from './amounts.js';
import { ahead } from './preview-text.js';

export interface ExperimentView {
  readonly report: (event: ExperimentEvent) => void;
  end(): void;
}

/** A live line on a terminal, redrawn twice a second; a line a step in a pipe or a log. */
export function experimentView(watts: () => number | null): ExperimentView {
  return process.stderr.isTTY ? liveView(watts) : plainView();
}

function plainView(): ExperimentView {
  return {
    report: (event) => {
      const text = sentence(event);
      if (text !== null) remark(text);
    },
    end: () => undefined,
  };
}

function liveView(watts: () => number | null): ExperimentView {
  const bar = new SingleBar({
    stream: process.stderr,
    format: '{bar} {where} | {watts} | {rate} | {left}',
    hideCursor: true,
    clearOnComplete: true,
    fps: 2,
  });
  const started = performance.now();
  let shown = { where: 'starting', rate: '', left: '' };
  let progress = { value: 0, total: 1, since: started, timed: false };
  let leftUntil: number | null = null;
  let ended = false;
  const draw = () => {
    const w = watts();
    const value = progress.timed ? (performance.now() - progress.since) / 1000 : progress.value;
    if (leftUntil !== null)
      shown.left = `${duration(Math.max(0, (leftUntil - performance.now()) / 1000))} left`;
    bar.setTotal(progress.total);
    bar.update(Math.min(value, progress.total), {
      ...shown,
      watts: w === null ? '- W' : `${w.toFixed(1)} W`,
    });
  };
  bar.start(1, 0, { ...shown, watts: '- W' });
  const timer = setInterval(draw, 500);
  timer.unref();
  const say = (text: string) => {
    bar.stop();
    remark(text);
    bar.start(progress.total, progress.value, { ...shown, watts: '' });
  };
  return {
    report: (event) => {
      if (event.kind === 'tokens') {
        progress.value = event.count;
        const seconds = (performance.now() - progress.since) / 1000;
        if (seconds > 0.5) shown.rate = `${figure(event.count / seconds)} tokens/s`;
        return;
      }
      if (event.kind === 'phase') {
        progress = {
          value: 0,
          total: event.seconds ?? 1,
          since: performance.now(),
          timed: event.seconds !== null,
        };
        shown = { ...shown, where: event.text, rate: '' };
      } else if (event.kind === 'run') {
        progress = { value: 0, total: event.tokens, since: performance.now(), timed: false };
        shown = {
          ...shown,
          where: `block ${event.block}/${event.blocks} run ${event.slot + 1}/4 ${event.arm}`,
          rate: '',
        };
        leftUntil = performance.now() + event.leftSeconds * 1000;
      } else if (event.kind === 'remark' || event.kind === 'block-done' || event.kind === 'preview')
        say(sentence(event) ?? '');
      draw();
    },
    end: () => {
      clearInterval(timer);
      if (!ended) bar.stop();
      ended = true;
    },
  };
}

/** What a log should have of an event; null for those that only a live line shows. */
function sentence(event: ExperimentEvent): string | null {
  switch (event.kind) {
    case 'tokens':
      return null;
    case 'preview':
      return ahead(event.preview, event.settled);
    case 'phase':
      return event.text === 'cool-down'
        ? null
        : `${event.text}${event.seconds === null ? '' : `, ${event.seconds} s`}`;
    case 'run':
      return event.slot === 0
        ? `block ${event.block} of ${event.blocks}, about ${duration(event.leftSeconds)} left`
        : null;
    case 'run-done': {
      const { arm, tokens, slot } = event.entry;
      const rate = event.tokensPerSecond === null ? '' : `, ${figure(event.tokensPerSecond)} tokens/s`;
      const power = event.watts === null ? '' : `, ${event.watts.toPrecision(3)} W`;
      return `run ${slot + 1}: ${arm}, ${tokens} tokens${rate}${power}${event.entry.reasons.map(({ reason }) => `; ${reason}`).join('')}`;
    }
    case 'block-done':
      return `block ${event.block} ${event.done ? 'done' : `broken off: ${event.why ?? ''}`}`;
    case 'remark':
      return event.text;
  }
}
