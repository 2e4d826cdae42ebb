export type Values = Float32Array | Int32Array | Int8Array;

export interface Difference {
  maxAbs: number;
  meanAbs: number;
}

/** Largest and mean absolute difference; a NaN on either side counts as infinite. */
export function difference(found: Values, expected: Values): Difference {
  let maxAbs = 0;
  let sum = 0;
  for (let i = 0; i < expected.length; i++) {
    const distance = Math.abs((found[i] ?? NaN) - (expected[i] ?? NaN));
    const counted = Number.isNaN(distance) ? Infinity : distance;
    if (counted > maxAbs) maxAbs = counted;
    sum += counted;
  }
  return { maxAbs, meanAbs: expected.length === 0 ? 0 : sum / expected.length };
}

/** Places where two integer arrays differ; every place when their lengths do. */
export function countDifferent(found: Int32Array, expected: Int32Array): number {
  if (found.length !== expected.length) return Math.max(found.length, expected.length);
  let count = 0;
  for (let i = 0; i < expected.length; i++) if (found[i] !== expected[i]) count++;
  return count;
}

/** True when both hold the same bits: -0 differs from +0, a NaN equals itself. */
export function sameBits(a: Float32Array, b: Float32Array): boolean {
  const bytes = (x: Float32Array) => Buffer.from(x.buffer, x.byteOffset, x.byteLength);
  return bytes(a).equals(bytes(b));
}

/** Indices of the k largest values, the lowest index first among equals. */
export function topIndices(values: Float32Array, k: number): number[] {
  const best: number[] = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? -Infinity;
    let at = best.length;
    while (at > 0 && value > (values[best[at - 1] ?? 0] ?? -Infinity)) at--;
    if (at >= k) continue;
    best.splice(at, 0, i);
    if (best.length > k) best.pop();
  }
  return best;
}

/** Mean share of the expected top k that is in the found top k, over rows of `width`. */
export function topAgreement(found: Float32Array, expected: Float32Array, width: number, k: number): number {
  const rows = expected.length / width;
  let shared = 0;
  for (let row = 0; row < rows; row++) {
    const of = (all: Float32Array) => topIndices(all.subarray(row * width, (row + 1) * width), k);
    const ours = new Set(of(found));
    for (const id of of(expected)) if (ours.has(id)) shared++;
  }
  return rows === 0 ? 1 : shared / (rows * Math.min(k, width));
}
