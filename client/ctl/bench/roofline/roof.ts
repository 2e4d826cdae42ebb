import { scaleLog, type ScaleLogarithmic } from 'd3-scale';
import { line, symbol, symbolCircle, symbolDiamond } from 'd3-shape';
import { colour, dashes, element, text } from '../charts/svg.js';
import { rangeBar, type Box } from '../charts/axes.js';
import { threadsText } from '../facts.js';
import type { Spread } from '../stats.js';

/** What one number of threads can do. */
export interface Roof {
  threads: number;
  gbPerS: number;
  /** Null where no peak is known: the roof then has no flat part. */
  peakGmacPerS: number | null;
}

/** Something measured under the roofs. */
export interface RoofPoint {
  kind: 'decode' | 'prefill';
  threads: number;
  /** Multiply-adds of dense products and head a byte that has to be read. */
  macsPerByte: number;
  gmacPerS: Spread;
}

const kinds = { decode: symbolCircle, prefill: symbolDiamond } as const;
const kindColour = { decode: colour(1), prefill: colour(2) } as const;

/** Multiply-adds a second over multiply-adds a byte, both logarithmic: nothing can lie above its roof. */
export function roofPlot(box: Box, roofs: readonly Roof[], points: readonly RoofPoint[]): string {
  const x = scaleLog(xDomain(points), [box.left, box.left + box.width]);
  const y = scaleLog(yDomain(x.domain(), roofs, points), [box.top + box.height, box.top]);
  const shownRoofs = roofs.filter((_, i) => i === 0 || i === roofs.length - 1);
  return [
    axes(box, x, y),
    ...shownRoofs.map((roof, i) => roofLine(x, y, roof, i === shownRoofs.length - 1)),
    ...points.map(({ macsPerByte, gmacPerS: { min, max } }) => rangeBar(x(macsPerByte), y(min), y(max))),
    ...points.map(({ macsPerByte, gmacPerS, kind }) => mark(x(macsPerByte), y(gmacPerS.median), kind)),
    ...labels(
      points.map(({ macsPerByte, gmacPerS, threads }) => ({
        x: x(macsPerByte),
        y: y(gmacPerS.median),
        threads,
      })),
    ),
    legend(box, shownRoofs),
  ].join('');
}

/** Whole powers of ten around the points, with room on both sides. */
function xDomain(points: readonly RoofPoint[]): [number, number] {
  const at = points.map(({ macsPerByte }) => macsPerByte);
  return [tenBelow(Math.min(...at) / 2), tenAbove(Math.max(...at) * 2)];
}

/** From under the lowest point, or the lowest roof at the left edge where that is higher, to above the highest roof. */
function yDomain(
  [from = 1, to = 1]: readonly number[],
  roofs: readonly Roof[],
  points: readonly RoofPoint[],
): [number, number] {
  const rates = points.flatMap(({ gmacPerS: { min, max } }) => [min, max]);
  const left = roofs.map(({ gbPerS }) => gbPerS * from);
  const tops = roofs.map((roof) => roofAt(roof, to));
  return [tenBelow(Math.min(...rates, ...left)), tenAbove(Math.max(...tops, ...rates))];
}

const tenBelow = (value: number): number => 10 ** Math.floor(Math.log10(value));
const tenAbove = (value: number): number => 10 ** Math.ceil(Math.log10(value));

function roofAt({ gbPerS, peakGmacPerS }: Roof, macsPerByte: number): number {
  return Math.min(gbPerS * macsPerByte, peakGmacPerS ?? Infinity);
}

type Log = ScaleLogarithmic<number, number>;

function axes({ left, top, width, height }: Box, x: Log, y: Log): string {
  const base = top + height;
  const tens = (scale: Log) => scale.ticks().filter((value) => Number.isInteger(Math.log10(value)));
  const upright = tens(x).map(
    (value) =>
      element('line', { x1: x(value), x2: x(value), y1: top, y2: base + 5, stroke: '#ddd' }) +
      text(x(value), base + 20, String(value), { 'text-anchor': 'middle', class: 'tick' }),
  );
  const level = tens(y).map(
    (value) =>
      element('line', { x1: left, x2: left + width, y1: y(value), y2: y(value), stroke: '#ddd' }) +
      text(left - 8, y(value) + 4, String(value), { 'text-anchor': 'end', class: 'tick' }),
  );
  const [nameX, nameY] = [left - 60, top + height / 2];
  return [
    ...upright,
    ...level,
    element('line', { x1: left, x2: left + width, y1: base, y2: base, stroke: '#222' }),
    text(left + width / 2, base + 44, 'multiply-adds a byte read (dense products and head)', {
      'text-anchor': 'middle',
    }),
    text(nameX, nameY, 'GMAC/s', { 'text-anchor': 'middle', transform: `rotate(-90 ${nameX} ${nameY})` }),
  ].join('');
}

function roofLine(x: Log, y: Log, roof: Roof, solid: boolean): string {
  const [from = 1, to = 1] = x.domain();
  const edge =
    roof.peakGmacPerS === null ? to : Math.min(Math.max(roof.peakGmacPerS / roof.gbPerS, from), to);
  const corners = [from, edge, to].map((at): [number, number] => [x(at), y(roofAt(roof, at))]);
  const stroke = {
    stroke: colour(0),
    'stroke-width': 2.5,
    'stroke-dasharray': solid ? undefined : dashes[1],
  };
  return element('path', { class: 'roof', d: line()(corners) ?? '', fill: 'none', ...stroke });
}

function mark(x: number, y: number, kind: RoofPoint['kind']): string {
  const d = symbol(kinds[kind], 90)() ?? '';
  return element('path', { class: 'mark', d, transform: `translate(${x.toFixed(2)} ${y.toFixed(2)})`, fill: kindColour[kind], stroke: '#fff' }); // prettier-ignore
}

const labelStep = 13;

/** The numbers of threads beside their points, moved down where they would lie over one another. */
function labels(points: readonly { x: number; y: number; threads: number }[]): string[] {
  const next = new Map<number, number>();
  return [...points]
    .sort((a, b) => a.y - b.y)
    .map(({ x, y, threads }) => {
      const at = Math.max(y, next.get(x) ?? y);
      next.set(x, at + labelStep);
      return text(x + 12, at + 4, String(threads), { class: 'value' });
    });
}

function legend({ left, top, width }: Box, roofs: readonly Roof[]): string {
  const at = left + width + 24;
  const line = (i: number) => top + 12 + i * 24;
  const label = (i: number, words: string) => text(at + 38, line(i) + 4, words, { class: 'legend' });
  let next = 0;
  const parts: string[] = [];
  roofs.forEach(({ threads, gbPerS, peakGmacPerS }, i) => {
    const [y, dash] = [line(next), i === roofs.length - 1 ? undefined : dashes[1]];
    const sample = { x1: at, x2: at + 30, y1: y, y2: y, stroke: colour(0), 'stroke-width': 2.5 };
    parts.push(element('line', { ...sample, 'stroke-dasharray': dash }));
    parts.push(label(next++, `${threadsText(threads)}: ${rounded(gbPerS)} GB/s`));
    if (peakGmacPerS !== null) parts.push(label(next++, `${rounded(peakGmacPerS)} GMAC/s`));
  });
  for (const kind of ['decode', 'prefill'] as const) {
    parts.push(mark(at + 15, line(next), kind));
    parts.push(label(next++, `${kind}, by threads`));
  }
  return parts.join('');
}

function rounded(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(1);
}
