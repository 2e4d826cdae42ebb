import { topIndices, type Values } from './compare.js';

/** Values by position: `layers` times [positions, width], one after the other. */
export interface ByPosition {
  values: Values;
  layers: number;
  positions: number;
}

/** Joins the layer-major values of consecutive calls. */
export function joinCalls<T extends Float32Array | Int8Array>(
  calls: readonly { values: T; positions: number }[],
  layers: number,
  make: (length: number) => T,
): T {
  const total = calls.reduce((sum, { values }) => sum + values.length, 0);
  const positions = calls.reduce((sum, call) => sum + call.positions, 0);
  const width = positions === 0 ? 0 : total / layers / positions;
  const joined = make(total);
  let at = 0;
  for (const { values, positions: n } of calls) {
    for (let layer = 0; layer < layers; layer++)
      joined.set(
        values.subarray(layer * n * width, (layer + 1) * n * width),
        (layer * positions + at) * width,
      );
    at += n;
  }
  return joined;
}

/**
 * By position: the largest error; of integers, how many differ. A NaN counts as infinite.
 *
 * @param expected  of the same form as found
 * @param relative  beyond magnitude 1 the error is a share of the expected value
 */
export function errorByPosition(found: ByPosition, expected: ByPosition, relative: boolean): number[] {
  const { positions, layers, values } = expected;
  const integers = !(values instanceof Float32Array);
  const byPosition = Array.from({ length: positions }, () => 0);
  if (found.values.length !== values.length) return byPosition.fill(Infinity);
  const width = values.length / layers / positions;
  for (let row = 0; row < layers * positions; row++) {
    const position = row % positions;
    for (let i = row * width; i < (row + 1) * width; i++) {
      const wanted = values[i] ?? NaN;
      const scale = relative ? Math.max(1, Math.abs(wanted)) : 1;
      const distance = Math.abs((found.values[i] ?? NaN) - wanted) / scale;
      const error = Number.isNaN(distance) ? Infinity : distance;
      if (integers) byPosition[position] = (byPosition[position] ?? 0) + (error === 0 ? 0 : 1);
      else if (error > (byPosition[position] ?? 0)) byPosition[position] = error;
    }
  }
  return byPosition;
}

/** The best id of each row. */
export function bestIds(logits: Float32Array, width: number): Int32Array {
  return Int32Array.from(
    { length: logits.length / width },
    (_, row) => topIndices(logits.subarray(row * width, (row + 1) * width), 1)[0] ?? -1,
  );
}
