/**
 * Where a rising function reaches `target`: brackets from `start` by doubling, then halves to the last bit.
 *
 * @param rising  defined for every x >= `start`, not above `target` at `start`
 */
export function solveRising(rising: (x: number) => number, target: number, start: number): number {
  let low = start;
  let width = 1;
  while (rising(start + width) < target && width < 1e12) {
    low = start + width;
    width *= 2;
  }
  let high = start + width;
  for (let i = 0; i < 200; i += 1) {
    const middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    if (rising(middle) < target) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
