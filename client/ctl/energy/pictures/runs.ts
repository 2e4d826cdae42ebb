import { scaleLinear, scalePoint } from 'd3-scale';
import { placeAxis, valueAxis } from '../../bench/charts/axes.js';
import { colour, element, text } from '../../bench/charts/svg.js';
import type { Result, RunResult } from '../../../../power/report/result.js';
import { cross, page } from './page.js';

const box = { left: 90, top: 96, height: 280 };
const leastWidth = 760;
const perRun = 16;

/** J/token of every run, arm by arm in the order of time, each with its expanded uncertainty (2 u); what does not count is a red x. */
export function runsPicture({ name, simulated, window, arms, runs }: Result): string {
  const most = Math.max(1, ...arms.map(({ arm }) => runs.filter((run) => run.arm === arm).length));
  const labels = arms.map(({ arm, used_runs: used, runs: count }) => `${arm} (${used} of ${count} count)`);
  const each = Math.max((most + 1) * perRun, ...labels.map(({ length }) => 7 * length + 20));
  const width = Math.max(leastWidth, 130 + arms.length * each);
  const area = { ...box, width: width - box.left - 40 };
  const values = runs.flatMap((run) => extent(run, window));
  const [low, high] = values.length === 0 ? [0, 1] : [Math.min(...values), Math.max(...values)];
  // Differences are what counts, so the axis does not begin at zero; its name says so.
  const pad = Math.max((high - low) * 0.15, high * 0.01);
  const y = scaleLinear()
    .domain([Math.max(0, low - pad), high + pad])
    .nice(5)
    .range([box.top + box.height - 30, box.top]);
  const x = scalePoint<number>()
    .domain(arms.map((_, a) => a))
    .range([area.left, area.left + area.width])
    .padding(0.5);
  const step = Math.min(perRun * 2, x.step() / (most + 1));
  const drawn = arms.map(({ arm }, a) =>
    runs
      .filter((run) => run.arm === arm)
      .map((run, i, all) => {
        const at = (x(a) ?? 0) + (i - (all.length - 1) / 2) * step;
        return element('g', { class: 'run' }, mark(run, window, at, y, a));
      })
      .join(''),
  );
  const means = arms.map(({ j_per_token: mean }, a) => {
    const middle = x(a) ?? 0;
    const half = (step * most) / 2;
    return mean === null
      ? ''
      : element('line', { class: 'mean', x1: middle - half, x2: middle + half, y1: y(mean), y2: y(mean), stroke: colour(a), 'stroke-width': 1.2, 'stroke-dasharray': '6 4' }); // prettier-ignore
  });
  const places = labels.map((label, a) => ({ at: x(a) ?? 0, label }));
  const begins = y.domain()[0] === 0 ? '' : ' (axis cut)';
  return page(
    [width, 450],
    `${name}: joules per token of every run`,
    'in the order of time; bars: two standard uncertainties; dashed: mean of the runs that count',
    simulated,
    valueAxis(y, { ...area, height: box.height - 30 }, `J/token, ${window} window${begins}`),
    placeAxis(places, area, 'arm'),
    ...means,
    ...drawn,
    legend(width),
  );
}

function extent(run: RunResult, window: 'decode' | 'full'): number[] {
  const value = run[window].figures.j_per_token;
  return value === null ? [] : [value.value - 2 * value.u.total, value.value + 2 * value.u.total];
}

function mark(
  run: RunResult,
  window: 'decode' | 'full',
  at: number,
  y: (value: number) => number,
  arm: number,
): string {
  const value = run[window].figures.j_per_token;
  if (value === null) return cross(at, box.top + box.height - 14);
  const [top, bottom] = [y(value.value + 2 * value.u.total), y(value.value - 2 * value.u.total)];
  const bar = element('line', { x1: at, x2: at, y1: top, y2: bottom, stroke: colour(arm), 'stroke-width': 1.4 }); // prettier-ignore
  const dot = { cx: at, cy: y(value.value), r: 4.5, stroke: colour(arm), 'stroke-width': 1.5 };
  return bar + element('circle', { ...dot, fill: run.used ? colour(arm) : '#fff' });
}

function legend(width: number): string {
  const left = width - 390;
  const dot = (x: number, fill: string) =>
    element('circle', { cx: x, cy: 78, r: 4.5, fill, stroke: '#222', 'stroke-width': 1.5 });
  return (
    dot(left, '#222') + text(left + 10, 82, 'counts', small) +
    dot(left + 75, '#fff') + text(left + 85, 82, 'valid, but its block is not', small) +
    cross(left + 265, 78) + text(left + 275, 82, 'invalid: no figure', small)
  ); // prettier-ignore
}

const small = { 'font-size': 12 };
