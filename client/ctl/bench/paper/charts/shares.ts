import { scaleBand, scaleLinear } from 'd3-scale';
import { stack } from 'd3-shape';
import { colour, element, picture, text } from './svg.js';

const box = { left: 150, top: 92, width: 580 };
const barStep = 48;

/** A lying bar a row, cut into parts that add up to 100 %. */
export function shareChart<Key extends string>(
  title: string,
  subtitle: string,
  xName: string,
  keys: readonly Key[],
  rows: readonly { label: string; share: Record<Key, number> }[],
): string {
  const height = rows.length * barStep;
  const base = box.top + height;
  const x = scaleLinear()
    .domain([0, 1])
    .range([box.left, box.left + box.width]);
  const y = scaleBand<number>()
    .domain(rows.map((_, i) => i))
    .range([box.top, base])
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
              fill: k < 2 ? '#fff' : '#222',
            });
      return element('rect', { ...bar, fill: colour(k), stroke: '#222', 'stroke-width': 0.5 }) + label;
    }),
  );
  const names = rows.map(({ label }, i) =>
    text(box.left - 10, (y(i) ?? 0) + y.bandwidth() / 2 + 5, label, { 'text-anchor': 'end', class: 'tick' }),
  );
  const ticks = x
    .ticks(5)
    .map(
      (value) =>
        element('line', { x1: x(value), x2: x(value), y1: base, y2: base + 5, stroke: '#222' }) +
        text(x(value), base + 20, percent(value), { 'text-anchor': 'middle', class: 'tick' }),
    );
  const line = element('line', {
    x1: box.left,
    x2: box.left + box.width,
    y1: base,
    y2: base,
    stroke: '#222',
  });
  const axisName = text(box.left + box.width / 2, base + 44, xName, { 'text-anchor': 'middle' });
  const legend = keys.map((key, k) => {
    const left = box.left + k * 130;
    const sample = {
      x: left,
      y: base + 62,
      width: 14,
      height: 14,
      fill: colour(k),
      stroke: '#222',
      'stroke-width': 0.5,
    };
    return element('rect', sample) + text(left + 20, base + 74, key, { class: 'legend' });
  });
  return picture(760, base + 96, title, subtitle, ...parts, ...names, line, ...ticks, axisName, ...legend);
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}
