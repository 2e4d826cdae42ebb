import { scaleLinear, type ScaleLinear } from 'd3-scale';
import { curveLinear, curveStepBefore, line } from 'd3-shape';
import { placeAxis, valueAxis, valueScale, type Box } from '../../bench/charts/axes.js';
import { colour, element, text } from '../../bench/charts/svg.js';
import { mostBlocks, type TracePanel } from '../../../../power/report/trace-panels.js';
import type { TracePoint } from '../../../../power/report/thin.js';
import type { Result, RunResult, Window } from '../../../../power/report/result.js';
import { cross, invalidColour, page } from './page.js';

/** Pixels across a panel, and so the columns that a trace is thinned to. */
export const traceColumns = 1040;
const left = 80;
const width = left + traceColumns + 30;
const plotHeight = 110;
const panelHeight = 200;
const top = 112;

/** The power over time: every part whole, then every block, with its windows, what is trimmed off them, and when tokens came. */
export function tracePicture(result: Result, panels: readonly TracePanel[]): string {
  const watts = panels.flatMap(({ points }) => points.flatMap((point) => (point ? [point.watts] : [])));
  const most = watts.reduce((a, b) => Math.max(a, b), 0);
  const arms = result.arms.map(({ arm }) => arm);
  const cut = result.blocks.length > mostBlocks ? `; the first ${mostBlocks} blocks of ${result.blocks.length}` : ''; // prettier-ignore
  const drawn = panels.map((panel, i) => {
    const box: Box = { left, top: top + i * panelHeight + 24, width: traceColumns, height: plotHeight };
    return drawPanel(panel, result, arms, most, box);
  });
  return page(
    [width, top + panels.length * panelHeight],
    `${result.name}: power`,
    `shaded: ${result.window} window of each run; dark: what is left of it after the trims; ticks below: tokens${cut}`,
    result.simulated,
    legend(arms),
    ...drawn,
  );
}

function drawPanel(
  { title, fromNs, toNs, points, runs, idles, tokens, rule }: TracePanel,
  { window }: Result,
  arms: readonly string[],
  most: number,
  box: Box,
): string {
  const x = scaleLinear()
    .domain([0, Number(toNs - fromNs) / 1e9])
    .range([box.left, box.left + box.width]);
  // Above the power there is room for names.
  const y = valueScale(1.2 * most, box);
  const at = (ns: string) => Math.min(Math.max(x(Number(BigInt(ns) - fromNs) / 1e9), box.left), box.left + box.width); // prettier-ignore
  const idle = idles.map(({ from_ns: from, to_ns: to }) => {
    const rect = { x: at(from), width: Math.max(1, at(to) - at(from)), y: box.top, height: box.height };
    const name = at(to) - at(from) > 30 ? text((at(from) + at(to)) / 2, box.top + 12, 'idle', label) : '';
    return element('rect', { class: 'idle', ...rect, fill: '#ececec' }) + name;
  });
  const ticks = tokens.map((s) => `M${x(s).toFixed(1)} ${box.top + box.height - 1}v-6`);
  const marks = element('path', { class: 'tokens', d: ticks.join(''), stroke: '#777', 'stroke-width': 0.6, fill: 'none' }); // prettier-ignore
  return element(
    'g',
    { class: 'panel' },
    text(box.left, box.top - 10, title, { 'font-weight': 'bold' }),
    ...idle,
    ...runs.map((run) => drawRun(run, run[window], at, box, arms.indexOf(run.arm))),
    valueAxis(y, box, 'W'),
    placeAxis(x.ticks(10).map((s) => ({ at: x(s), label: String(s) })), box, 's'), // prettier-ignore
    ticks.length === 0 ? '' : marks,
    curve(points, x, y, rule === 'trapezoid'),
  );
}

function drawRun(
  run: RunResult,
  { from_ns: from, to_ns: to, figures }: Window,
  at: (ns: string) => number,
  { top: above, height }: Box,
  arm: number,
): string {
  const [start, end] = [at(from), at(to)];
  // An invalid run has an outline in place of its arm's colour.
  const outline = figures.valid ? {} : { stroke: invalidColour, 'stroke-width': 1.2 };
  const fill = figures.valid ? colour(arm) : '#ffffff';
  const rect = (x0: number, x1: number, opacity: number, name: string) =>
    element('rect', { class: name, x: x0, width: Math.max(0.5, x1 - x0), y: above, height, fill, 'fill-opacity': opacity, ...outline }); // prettier-ignore
  const scale = figures.window_s > 0 ? (end - start) / figures.window_s : 0;
  const trim = figures.trim_s * scale;
  const inner = end - start > 2 * trim && figures.trimmed_s !== null;
  const name =
    end - start > 8 + 6.5 * run.arm.length ? text((start + end) / 2, above + 12, run.arm, label) : '';
  const bad = figures.valid ? '' : cross((start + end) / 2, above + 24);
  return (
    rect(start, end, 0.12, 'window') +
    (inner ? rect(start + trim, end - trim, 0.16, 'trimmed') : '') +
    name +
    bad
  );
}

const label = { 'text-anchor': 'middle', 'font-size': 11, fill: '#555' };

/** Steps that reach back for a meter that says the mean of what was; else straight lines. */
function curve(
  points: readonly TracePoint[],
  x: ScaleLinear<number, number>,
  y: ScaleLinear<number, number>,
  straight: boolean,
): string {
  const path = line<TracePoint>()
    .defined((point) => point !== null)
    .x((point) => x(point?.s ?? 0))
    .y((point) => y(point?.watts ?? 0))
    .curve(straight ? curveLinear : curveStepBefore)
    .digits(1);
  return element('path', { class: 'power', d: path([...points]) ?? '', stroke: '#222', 'stroke-width': 1, fill: 'none' }); // prettier-ignore
}

function legend(arms: readonly string[]): string {
  let x = left;
  const entries = [...arms.map((arm, a) => ({ name: arm, fill: colour(a), opacity: 0.28, stroke: undefined })), { name: 'invalid', fill: '#ffffff', opacity: 1, stroke: invalidColour }, { name: 'idle', fill: '#ececec', opacity: 1, stroke: undefined }]; // prettier-ignore
  return entries
    .map(({ name, fill, opacity, stroke }) => {
      const sample = { x, y: 74, width: 16, height: 14, fill, 'fill-opacity': opacity, stroke };
      const drawn = element('rect', sample) + text(x + 22, 86, name, { 'font-size': 12 });
      x += 46 + name.length * 7;
      return drawn;
    })
    .join('');
}
