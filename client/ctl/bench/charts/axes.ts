import { scaleLinear, type ScaleLinear } from 'd3-scale';
import { element, text } from './svg.js';

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** From zero to a round value at or above the largest. */
export function valueScale(largest: number, { top, height }: Box): ScaleLinear<number, number> {
  return scaleLinear()
    .domain([0, largest > 0 ? largest * 1.06 : 1])
    .nice(5)
    .range([top + height, top]);
}

/** Lines, ticks and the name of the upright axis. */
export function valueAxis(
  scale: ScaleLinear<number, number>,
  { left, top, width, height }: Box,
  name: string,
): string {
  const format = scale.tickFormat(5);
  const ticks = scale
    .ticks(5)
    .map(
      (value) =>
        element('line', { x1: left, x2: left + width, y1: scale(value), y2: scale(value), stroke: '#ddd' }) +
        text(left - 8, scale(value) + 4, format(value), { 'text-anchor': 'end', class: 'tick' }),
    );
  const [x, y] = [left - 52, top + height / 2];
  return ticks.join('') + text(x, y, name, { 'text-anchor': 'middle', transform: `rotate(-90 ${x} ${y})` });
}

/** The lower axis: its line, a label at each place, its name. */
export function placeAxis(
  places: readonly { at: number; label: string }[],
  { left, top, width, height }: Box,
  name: string,
): string {
  const base = top + height;
  return (
    element('line', { x1: left, x2: left + width, y1: base, y2: base, stroke: '#222' }) +
    places
      .map(
        ({ at, label }) =>
          element('line', { x1: at, x2: at, y1: base, y2: base + 5, stroke: '#222' }) +
          text(at, base + 20, label, { 'text-anchor': 'middle', class: 'tick' }),
      )
      .join('') +
    text(left + width / 2, base + 44, name, { 'text-anchor': 'middle' })
  );
}

/** From the least to the most that was measured, with a white edge that shows on dark bars; nothing when they are one. */
export function rangeBar(x: number, low: number, high: number): string {
  if (low === high) return '';
  const [left, at, right] = [x - 4, x, x + 4].map((value) => value.toFixed(2));
  const [bottom, top] = [low.toFixed(2), high.toFixed(2)];
  const line = (stroke: string, width: number) =>
    element('path', {
      d: `M${left} ${bottom}H${right}M${left} ${top}H${right}M${at} ${bottom}V${top}`,
      stroke,
      'stroke-width': width,
      fill: 'none',
    });
  return element('g', { class: 'range' }, line('#ffffff', 3.5), line('#222222', 1.2));
}
