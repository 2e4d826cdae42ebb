import { scaleBand } from 'd3-scale';
import type { Spread } from '../stats.js';
import { placeAxis, rangeBar, valueAxis, valueScale, type Box } from './axes.js';
import { colour, element, picture, text } from './svg.js';

export interface Panel {
  /** With its unit. */
  yName: string;
  values: readonly Spread[];
  digits: number;
}

const top = 84;
const height = 276;

/** Bars of the same places, a panel for each quantity, side by side. */
export function barChart(
  title: string,
  subtitle: string,
  xName: string,
  places: readonly string[],
  panels: readonly Panel[],
): string {
  const width = 760;
  const each = (width - 24) / panels.length;
  const drawn = panels.map((panel, p) =>
    drawPanel({ left: each * p + 88, top, width: each - 100, height }, xName, places, panel),
  );
  return picture(width, 430, title, subtitle, ...drawn);
}

function drawPanel(
  box: Box,
  xName: string,
  places: readonly string[],
  { yName, values, digits }: Panel,
): string {
  const x = scaleBand()
    .domain(places)
    .range([box.left, box.left + box.width])
    .padding(0.35);
  const y = valueScale(Math.max(...values.map(({ max }) => max)), box);
  const bars = values.map(({ median, min, max }, i) => {
    const left = x(places[i] ?? '') ?? box.left;
    const middle = left + x.bandwidth() / 2;
    const bar = { class: 'bar', x: left, width: x.bandwidth(), y: y(median), height: y(0) - y(median) };
    return (
      element('rect', { ...bar, fill: colour(i), stroke: '#222', 'stroke-width': 0.5 }) +
      rangeBar(middle, y(min), y(max)) +
      text(middle, y(max) - 7, median.toFixed(digits), { 'text-anchor': 'middle', class: 'value' })
    );
  });
  const labels = places.map((label) => ({ at: (x(label) ?? 0) + x.bandwidth() / 2, label }));
  return valueAxis(y, box, yName) + placeAxis(labels, box, xName) + bars.join('');
}
