import type { Sample } from '../meters/meter.js';

/** A place of a line: seconds from the start of the picture, watts. Null ends the line: nothing is drawn over a gap. */
export type TracePoint = { readonly s: number; readonly watts: number } | null;

interface Column {
  readonly index: number;
  readonly points: { s: number; watts: number }[];
}

/**
 * A trace cut down to what a picture can show: of each column of pixels the first, the least, the greatest and the last sample, in the
 * order of time. The line through them covers the pixels that the line through all samples would. Memory grows with the columns, not
 * with the trace.
 *
 * @source Jugel et al., M4: A Visualization-Oriented Time Series Data Aggregation, VLDB 2014
 */
export class Thinner {
  readonly #points: TracePoint[] = [];
  readonly #columnNs: number;
  #column: Column | null = null;
  #lastNs: bigint | null = null;

  /** @param gapNs  two samples further apart are not joined */
  constructor(
    readonly fromNs: bigint,
    readonly toNs: bigint,
    columns: number,
    private readonly gapNs: number,
  ) {
    this.#columnNs = Math.max(1, Number(toNs - fromNs) / columns);
  }

  /** Takes the next sample; those outside of the picture are left out. */
  add({ tNs, watts }: Sample, usable: boolean): void {
    if (tNs < this.fromNs || tNs > this.toNs) return;
    if (!usable || watts === null) {
      this.#break();
      return;
    }
    if (this.#lastNs !== null && Number(tNs - this.#lastNs) > this.gapNs) this.#break();
    this.#lastNs = tNs;
    const ns = Number(tNs - this.fromNs);
    const index = Math.floor(ns / this.#columnNs);
    if (this.#column?.index !== index) {
      this.#flush();
      this.#column = { index, points: [] };
    }
    keep(this.#column.points, { s: ns / 1e9, watts });
  }

  /** What is left, once all were added. */
  points(): readonly TracePoint[] {
    this.#flush();
    return this.#points;
  }

  #flush(): void {
    if (this.#column !== null) this.#points.push(...this.#column.points);
    this.#column = null;
  }

  #break(): void {
    this.#flush();
    this.#lastNs = null;
    if (this.#points.at(-1)) this.#points.push(null);
  }
}

/** Adds a point to at most four: first, least and greatest in their order, last. */
function keep(points: { s: number; watts: number }[], point: { s: number; watts: number }): void {
  points.push(point);
  if (points.length <= 4) return;
  const [least, greatest] = [extreme(points, -1), extreme(points, 1)];
  const kept = points.filter((_, i) => i === 0 || i === points.length - 1 || i === least || i === greatest);
  points.splice(0, points.length, ...kept);
}

/** Index of the first point whose watts are greatest (`sign` 1) or least (-1). */
function extreme(points: readonly { watts: number }[], sign: 1 | -1): number {
  let best = 0;
  points.forEach(({ watts }, i) => {
    if (sign * watts > sign * (points[best]?.watts ?? watts)) best = i;
  });
  return best;
}
