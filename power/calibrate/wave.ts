/** The square wave of a calibration: the machine works and rests in turn. */
export interface Edge {
  readonly tNs: bigint;
  /** From here on. */
  readonly busy: boolean;
}

/**
 * Lengths of the halves in seconds, work and rest in turn. They grow by shares of the golden ratio, so that edges fall on every phase of
 * a meter that has a clock of its own, and no shift of the wave fits it twice.
 *
 * @param half  shortest half, s
 * @param cycles  of work and rest
 * @param period  the meter's update period, s
 */
export function halfLengths(half: number, cycles: number, period: number): number[] {
  return Array.from({ length: 2 * cycles }, (_, i) => half + period * ((i * 0.618_033_988_75) % 1));
}

/** The part of (from, to] in which the machine worked, 0 to 1; of an instant, whether it worked. Seconds. */
export class Wave {
  /** Seconds of each edge from the first; work and rest in turn, work first. */
  constructor(private readonly edges: readonly number[]) {}

  busyShare(from: number, to: number): number {
    if (to <= from) return this.#busyAt(to) ? 1 : 0;
    let busy = 0;
    for (let i = 0; i < this.edges.length; i += 2) {
      const start = Math.max(from, this.edges[i] ?? Infinity);
      const end = Math.min(to, this.edges[i + 1] ?? Infinity);
      if (end > start) busy += end - start;
    }
    return busy / (to - from);
  }

  #busyAt(t: number): boolean {
    return this.edges.filter((edge) => edge < t).length % 2 === 1;
  }
}
