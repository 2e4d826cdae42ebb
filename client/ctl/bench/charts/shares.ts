import { scaleBand, scaleLinear } from 'd3-scale';
import { stack } from 'd3-shape';
import { colour, element, picture, text, textColour } from './svg.js';

export interface ShareRow<Key extends string> {
  label: string;
  share: Record<Key, number>;
}

/** Where lying bars stand in a picture. */
export interface ShareBox {
  left: number;
  top: number;
  width: number;
  /** Pixels that a name in the legend has. */
  legendStep: number;
}

const box: ShareBox = { left: 150, top: 92, width: 580, legendStep: 130 };
const barStep = 48;
const legendLine = 24;

/** A lying bar a row, cut into parts that add up to 100 %. */
export function shareChart<Key extends string>(
  title: string,
  subtitle: string,
  xName: string,
  keys: readonly Key[],
  rows: readonly ShareRow<Key>[],
): string {
  const { drawn, height } = shareBars(box, xName, keys, rows);
  return picture(760, box.top + height, title, subtitle, drawn);
}

/** The same as a part of a picture, and the height that it takes, legend included. */
export function shareBars<Key extends string>(
  { left, top, width, legendStep }: ShareBox,
  xName: string,
  keys: readonly Key[],
  rows: readonly ShareRow<Key>[],
): { drawn: string; height: number } {
  const base = top + rows.length * barStep;
  const x = scaleLinear()
    .domain([0, 1])
    .range([left, left + width]);
  const y = scaleBand<number>()
    .domain(rows.map((_, i) => i))
    .range([top, base])
    .padding(0.3);
  const layers = stack<unknown, Record<Key, number>, Key>().keys(keys)(rows.map(({ share }) => share));
  const parts = layers.flatMap((layer, k) =>
    layer.map(([from, to], i) => {
      const bar = { class: 'part', x: x(from), width: x(to) - x(from), y: y(i) ?? 0, height: y.bandwidth() };
      const label =
        to - from < 0.06
          ? ''
          : text((x(from) + x(to)) / 2, (y(i) ?? 0) + y.bandwidth() / 2 + 5, percent(to - from), {
              'text-anchor': 'middle',
              fill: textColour(k),
            });
      return element('rect', { ...bar, fill: colour(k), stroke: '#222', 'stroke-width': 0.5 }) + label;
    }),
  );
  const names = rows.map(({ label }, i) =>
    text(left - 10, (y(i) ?? 0) + y.bandwidth() / 2 + 5, label, { 'text-anchor': 'end', class: 'tick' }),
  );
  const ticks = x
    .ticks(5)
    .map(
      (value) =>
        element('line', { x1: x(value), x2: x(value), y1: base, y2: base + 5, stroke: '#222' }) +
        text(x(value), base + 20, percent(value), { 'text-anchor': 'middle', class: 'tick' }),
    );
  const line = element('line', { x1: left, x2: left + width, y1: base, y2: base, stroke: '#222' });
  const axisName = text(left + width / 2, base + 44, xName, { 'text-anchor': 'middle' });
  const perLine = Math.max(1, Math.floor((width + legendStep / 2) / legendStep));
  const legend = keys.map((key, k) => {
    const [at, below] = [left + (k % perLine) * legendStep, Math.floor(k / perLine) * legendLine];
    const sample = { x: at, y: base + 62 + below, width: 14, height: 14 };
    return (
      element('rect', { ...sample, fill: colour(k), stroke: '#222', 'stroke-width': 0.5 }) +
      text(at + 20, base + 74 + below, key, { class: 'legend' })
    );
  });
  const lines = Math.ceil(keys.length / perLine);
  return {
    drawn: [...parts, ...names, line, ...ticks, axisName, ...legend].join(''),
    height: base - top + 72 + lines * legendLine,
  };
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}
