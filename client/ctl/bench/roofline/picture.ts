import { shareBars, type ShareRow } from '../charts/shares.js';
import { picture, text } from '../charts/svg.js';
import { roofPlot, type Roof, type RoofPoint } from './roof.js';

/** Bars of one quantity: a row each for decode and prefill. */
export interface Parts {
  title: string;
  rows: readonly { label: string; parts: Readonly<Record<string, number>> }[];
}

export interface RooflineData {
  title: string;
  subtitle: string;
  roofs: readonly Roof[];
  points: readonly RoofPoint[];
  parts: readonly Parts[];
}

const width = 960;
const plot = { left: 150, top: 84, width: 600, height: 340 };
/** Parts with colours of their own; the rest is one. */
const most = 11;

/** The whole picture as SVG: the roofs with what was reached under them, and what time and bytes go to. */
export function rooflinePicture({ title, subtitle, roofs, points, parts }: RooflineData): string {
  let top = plot.top + plot.height + 84;
  const drawn: string[] = [];
  for (const { title: name, rows } of parts) {
    drawn.push(text(24, top + 6, name, { 'font-weight': 'bold' }));
    const { keys, shares } = sharesOf(rows);
    const box = { left: plot.left, top: top + 14, width: 770, legendStep: 154 };
    const bars = shareBars(box, 'share', keys, shares);
    drawn.push(bars.drawn);
    top += bars.height + 44;
  }
  return picture(width, top, title, subtitle, roofPlot(plot, roofs, points), ...drawn);
}

/** Parts as shares of their row, the largest first; beyond the colours there are, together. */
export function sharesOf(rows: Parts['rows']): { keys: string[]; shares: ShareRow<string>[] } {
  const shares = rows.map(({ label, parts }) => {
    const total = Object.values(parts).reduce((sum, part) => sum + part, 0);
    return {
      label,
      share: new Map(
        Object.entries(parts).map(([key, part]) => [key.replaceAll('_', ' '), total > 0 ? part / total : 0]),
      ),
    };
  });
  const largest = new Map<string, number>();
  for (const { share } of shares)
    for (const [key, part] of share) largest.set(key, Math.max(largest.get(key) ?? 0, part));
  const order = [...largest].sort(([, a], [, b]) => b - a).map(([key]) => key);
  const shownKeys = order.length > most ? order.slice(0, most - 1) : order;
  const rest = order.slice(shownKeys.length);
  const keys = rest.length > 0 ? [...shownKeys, 'the rest'] : shownKeys;
  return {
    keys,
    shares: shares.map(({ label, share }) => {
      const part = (key: string) => share.get(key) ?? 0;
      const own = Object.fromEntries(shownKeys.map((key) => [key, part(key)]));
      const others = rest.reduce((sum, key) => sum + part(key), 0);
      return { label, share: rest.length > 0 ? { ...own, 'the rest': others } : own };
    }),
  };
}
