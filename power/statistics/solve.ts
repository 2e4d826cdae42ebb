/**
 * Where a rising function reaches `target`: a bracket from `start` by doubling, then false position that halves the weight of an end which
 * stays (the Illinois rule), so that it converges faster than halving and never leaves the bracket.
 *
 * @param rising  defined for every x >= `start`, not above `target` at `start`
 */
export function solveRising(rising: (x: number) => number, target: number, start: number): number {
  const f = (x: number): number => rising(x) - target;
  let [low, below] = [start, f(start)];
  let width = 1;
  let [high, above] = [start + width, f(start + width)];
  while (above < 0 && width < 1e12) {
    [low, below] = [high, above];
    width *= 2;
    [high, above] = [start + width, f(start + width)];
  }
  let stayed: 'low' | 'high' | null = null;
  let x = high;
  for (let i = 0; i < 200 && high - low > 1e-15 * Math.abs(high) && above !== below; i += 1) {
    const before = x;
    x = Math.min(high, Math.max(low, (low * above - high * below) / (above - below)));
    const y = f(x);
    if (y === 0 || Math.abs(x - before) <= 1e-15 * Math.abs(x)) break;
    if (y < 0) {
      [low, below] = [x, y];
      if (stayed === 'high') above /= 2;
      stayed = 'high';
    } else {
      [high, above] = [x, y];
      if (stayed === 'low') below /= 2;
      stayed = 'low';
    }
  }
  return x;
}
