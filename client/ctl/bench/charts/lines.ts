import { scalePoint } from 'd3-scale';
import { line, symbol, symbolCircle, symbolDiamond, symbolSquare, symbolTriangle } from 'd3-shape';
import type { Spread } from '../stats.js';
import { placeAxis, rangeBar, valueAxis, valueScale, type Box } from './axes.js';
import { colour, dashes, element, picture, text } from './svg.js';

export interface Series {
  name: string;
  /** In the order of `places`; undefined where nothing was measured. */
  values: readonly (Spread | undefined)[];
}

const symbols = [symbolCircle, symbolSquare, symbolTriangle, symbolDiamond];
const box: Box = { left: 90, top: 84, width: 480, height: 276 };

/** A line a series over the same places, each point with its range. */
export function lineChart(
  title: string,
  subtitle: string,
  [xName, yName]: readonly [string, string],
  places: readonly string[],
  series: readonly Series[],
): string {
  const x = scalePoint()
    .domain(places)
    .range([box.left, box.left + box.width])
    .padding(0.4);
  const at = (i: number) => x(places[i] ?? '') ?? box.left;
  const y = valueScale(Math.max(...series.flatMap(({ values }) => values.map((v) => v?.max ?? 0))), box);
  const drawn = series.map(({ values }, s) => {
    const points = values.flatMap((value, i): { px: number; value: Spread }[] =>
      value === undefined ? [] : [{ px: at(i), value }],
    );
    const path = line<(typeof points)[number]>(
      ({ px }) => px,
      ({ value }) => y(value.median),
    )(points);
    const stroke = {
      fill: 'none',
      stroke: colour(s),
      'stroke-width': 2.5,
      'stroke-dasharray': dashes[s % 4],
    };
    return (
      element('path', { class: 'series', d: path ?? '', ...stroke }) +
      points
        .map(({ px, value }) => rangeBar(px, y(value.min), y(value.max)) + marker(px, y(value.median), s))
        .join('')
    );
  });
  return picture(
    760,
    430,
    title,
    subtitle,
    valueAxis(y, box, yName),
    placeAxis(
      places.map((label, i) => ({ at: at(i), label })),
      box,
      xName,
    ),
    ...drawn,
    legend(series.map(({ name }) => name)),
  );
}

function marker(x: number, y: number, s: number): string {
  const d = symbol(symbols[s % symbols.length] ?? symbolCircle, 70)() ?? '';
  return element('path', { class: 'mark', d, transform: `translate(${x.toFixed(2)} ${y.toFixed(2)})`, fill: colour(s), stroke: '#fff' }); // prettier-ignore
}

function legend(names: readonly string[]): string {
  const left = box.left + box.width + 24;
  return names
    .map((name, s) => {
      const y = box.top + 12 + s * 24;
      const stroke = { stroke: colour(s), 'stroke-width': 2.5, 'stroke-dasharray': dashes[s % 4] };
      const sample = element('line', { x1: left, x2: left + 30, y1: y, y2: y, ...stroke });
      return sample + marker(left + 15, y, s) + text(left + 38, y + 4, name, { class: 'legend' });
    })
    .join('');
}
