import { scaleLinear, type ScaleLinear } from 'd3-scale';
import { area } from 'd3-shape';
import { colour, element, text } from '../../bench/charts/svg.js';
import type { BlockResult, CandidateResult, Result } from '../../../../power/report/result.js';
import { evidence, headline } from '../../../../power/report/words.js';
import type { Comparison } from '../../../../power/statistics/verdict.js';
import { cross, page, shorten, wrap } from './page.js';

const left = 200;
const plotWidth = 560;
const width = left + plotWidth + 40;
const rowHeight = 22;

/** The difference of every block, its pairs, the mean with its interval, and the band that the meter cannot see into: a panel a candidate. */
export function pairedPicture(result: Result): string {
  const { name, simulated, window, verdicts, blocks } = result;
  const of = (candidate: string) => blocks.filter((block) => block.candidate === candidate);
  const points = Math.max(0.5, ...verdicts.flatMap(({ verdict }) => extent(verdict)));
  // An interval much wider than its points, of two blocks that disagree, would press them into a line: it leaves the picture.
  const reach =
    1.1 *
    Math.max(
      points,
      Math.min(4 * points, Math.max(...verdicts.map(({ verdict }) => intervalExtent(verdict)))),
    );
  const x = scaleLinear()
    .domain([-reach, reach])
    .nice(6)
    .clamp(true)
    .range([left, left + plotWidth]);
  let top = 84;
  const panels = verdicts.map((verdict, v) => {
    const panel = drawPanel(verdict, of(verdict.candidate), x, top, v + 1);
    top += panel.height;
    return panel.drawn;
  });
  return page(
    [width, top + 24],
    `${name}: energy per token against the baseline`,
    `${window} window; one point a block; below zero is less energy than the baseline`,
    simulated,
    ...panels,
  );
}

const percent = (ratio: number): number => 100 * (ratio - 1);

/** Two standard uncertainties of what the meter's step hides, %. */
const floorOf = ({ u_resolution: u }: Comparison): number[] => (u === null ? [] : [200 * u]);

const intervalExtent = ({ interval }: Comparison): number =>
  interval === null ? 0 : Math.max(Math.abs(percent(interval.low)), Math.abs(percent(interval.high)));

function extent(comparison: Comparison): number[] {
  const { blocks } = comparison;
  const ratios = blocks.flatMap(({ ratio, pairs }) => [ratio, ...pairs.map((pair) => pair.ratio)]);
  return [...ratios.map((ratio) => Math.abs(percent(ratio))), ...floorOf(comparison)];
}

function drawPanel(
  result: CandidateResult,
  blocks: readonly BlockResult[],
  x: ScaleLinear<number, number>,
  top: number,
  arm: number,
): { drawn: string; height: number } {
  const { candidate, verdict } = result;
  const sentences = wrap(`${headline(result)} ${evidence(result)}`, 104);
  const floor = floorOf(verdict);
  const above = top + 20 + sentences.length * 17;
  // The band's name has a line of its own: beside the rows it would lie over their points.
  const head = above + 18 * floor.length;
  const base = head + (blocks.length + 1) * rowHeight + 10;
  const said = sentences.map((line, i) => text(24, top + 22 + i * 17, line, { fill: '#555' }));
  const band = floor.map((half) => floorBand(x, half, head, base));
  const zero = element('line', { x1: x(0), x2: x(0), y1: head, y2: base, stroke: '#222', 'stroke-dasharray': '3 3' }); // prettier-ignore
  const ticks = x.ticks(6).map((value) => tick(x(value), base, `${value > 0 ? '+' : value < 0 ? '−' : ''}${Math.abs(value)} %`)); // prettier-ignore
  const axis = element('line', { x1: left, x2: left + plotWidth, y1: base, y2: base, stroke: '#222' });
  const rows = blocks.map((block, i) => blockRow(block, verdict, x, head + (i + 0.5) * rowHeight, arm));
  const mean = meanRow(verdict, x, head + (blocks.length + 0.5) * rowHeight, arm);
  return {
    drawn: element(
      'g',
      { class: 'candidate' },
      text(24, top + 4, candidate, { 'font-weight': 'bold', fill: colour(arm) }),
      ...said,
      ...band,
      zero,
      axis,
      ...ticks,
      ...rows,
      mean,
    ),
    height: base - top + 50,
  };
}

function floorBand(x: ScaleLinear<number, number>, half: number, top: number, bottom: number): string {
  const [low, high] = x.domain() as [number, number];
  const ends = [Math.max(low, -half), Math.min(high, half)];
  const d = area<number>()
    .x((at) => x(at))
    .y0(bottom)
    .y1(top)(ends);
  return element('path', { class: 'floor', d: d ?? '', fill: '#e4e4e4' }) + text(x(0), top - 5, `within the meter’s resolution, ±${half.toPrecision(2)} %`, { 'font-size': 11, fill: '#777', 'text-anchor': 'middle' }); // prettier-ignore
}

function tick(at: number, base: number, label: string): string {
  return element('line', { x1: at, x2: at, y1: base, y2: base + 5, stroke: '#222' }) + text(at, base + 20, label, { 'text-anchor': 'middle' }); // prettier-ignore
}

function blockRow(
  block: BlockResult,
  { blocks }: Comparison,
  x: ScaleLinear<number, number>,
  y: number,
  arm: number,
): string {
  const again = block.attempt > 1 ? `, attempt ${block.attempt}` : '';
  const label = text(left - 12, y + 4, `block ${block.block}${again}`, { 'text-anchor': 'end' });
  const effect = block.used ? blocks.find((one) => one.block === block.block) : undefined;
  if (effect === undefined) {
    const why = `does not count: ${block.why.join(' ')}`;
    return element('g', { class: 'block' }, label, cross(left + 10, y), text(left + 24, y + 4, shorten(why, 96), { 'font-size': 11, fill: '#777' })); // prettier-ignore
  }
  const pairs = effect.pairs.map(
    ({ ratio }) =>
    element('circle', { class: 'pair', cx: x(percent(ratio)), cy: y, r: 3, fill: '#fff', stroke: colour(arm) }), // prettier-ignore
  );
  const mean = { class: 'mean', cx: x(percent(effect.ratio)), cy: y, r: 5, fill: colour(arm) };
  return element('g', { class: 'block' }, label, ...pairs, element('circle', mean));
}

function meanRow(
  { ratio, interval }: Comparison,
  x: ScaleLinear<number, number>,
  y: number,
  arm: number,
): string {
  if (ratio === null) return '';
  const at = (value: number) => x(percent(value)).toFixed(1);
  const [least = 0, most = 0] = x.domain();
  const ends = interval && [interval.low, interval.high];
  const caps = ends?.map((value) => {
    if (percent(value) > most) return `M${left + plotWidth - 6} ${y - 6}l6 6l-6 6`;
    return percent(value) < least ? `M${left + 6} ${y - 6}l-6 6l6 6` : `M${at(value)} ${y - 6}v12`;
  });
  const bar = ends && element('path', { class: 'interval', d: `${caps?.join('') ?? ''}M${at(ends[0] ?? 1)} ${y}H${at(ends[1] ?? 1)}`, stroke: colour(arm), 'stroke-width': 2.5, fill: 'none' }); // prettier-ignore
  const label = interval === null ? 'mean, no interval' : 'mean, 95 % interval';
  const diamond = element('path', { d: `M${at(ratio)} ${y - 7}l7 7l-7 7l-7 -7z`, fill: colour(arm) });
  return (
    text(left - 12, y + 4, label, { 'text-anchor': 'end', 'font-weight': 'bold' }) + (bar ?? '') + diamond
  );
}
