/** Standard uncertainties (GUM, JCGM 100:2008, 4.3.7 and 5.1.2; energy-method.md, 2.2). */
import type { Uncertainty, Value } from './figures.js';

/** Parts of a standard uncertainty before their sum. */
export type Parts = Omit<Uncertainty, 'total'>;

/** A value with its parts and their root sum of squares; an unknown accuracy is not in it. */
export function withUncertainty(value: number, parts: Parts): Value {
  const total = Math.hypot(parts.accuracy ?? 0, parts.resolution, parts.repeatability, parts.tokenEdges);
  return { value, u: { ...parts, total } };
}

/** The value times an exact factor > 0: watts to joules, joules to joules per token. `tokenEdges` in the unit of the result. */
export function scaled({ value, u }: Value, factor: number, tokenEdges = 0): Value {
  return withUncertainty(value * factor, {
    accuracy: u.accuracy === null ? null : u.accuracy * factor,
    resolution: u.resolution * factor,
    repeatability: u.repeatability * factor,
    tokenEdges,
  });
}

/** Standard uncertainty of a number known to lie within +-`half`. */
export function rectangular(half: number): number {
  return half / Math.sqrt(3);
}

/** Of a count of tokens: one at each edge may or may not be in, +-1 as a rectangle, both edges together. */
export const tokenEdgeCount = Math.hypot(rectangular(1), rectangular(1));
