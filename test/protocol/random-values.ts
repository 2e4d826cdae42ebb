/** SplitMix64, so that a failing seed can be repeated. */
export class Random {
  private state: bigint;

  constructor(readonly seed: number) {
    this.state = BigInt(seed);
  }

  /** An integer in [0, below). */
  below(below: number): number {
    this.state = BigInt.asUintN(64, this.state + 0x9e3779b97f4a7c15n);
    let z = this.state;
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return Number((z ^ (z >> 31n)) % BigInt(below));
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }
}

const letters = ['a', 'é', '能', '🙂', '\0', ' '];

/** A value of every kind that the wire knows. */
export function randomValue(random: Random, depth = 0): unknown {
  const kinds = depth < 5 ? 11 : 8;
  switch (random.below(kinds)) {
    case 0:
      return null;
    case 1:
      return random.below(2) === 1;
    case 2:
      return random.below(200) - 100;
    case 3:
      return random.pick([0xff, 0x100, 0xffff, 0x10000, 0xffff_ffff, -0x80, -0x81, -0x8001, -0x8000_0000]);
    case 4:
      return random.pick([
        2 ** 32,
        -(2 ** 40),
        Number.MAX_SAFE_INTEGER,
        2n ** 63n,
        2n ** 64n - 1n,
        -(2n ** 63n),
      ]);
    case 5:
      return random.below(1000) / 7;
    case 6:
      return Array.from({ length: random.below(random.pick([4, 40, 300])) }, () => random.pick(letters)).join(
        '',
      );
    case 7:
      return random.bytes(random.below(random.pick([4, 300])));
    case 8:
    case 9:
      return Array.from({ length: random.below(random.pick([3, 20])) }, () => randomValue(random, depth + 1));
    default: {
      const length = random.below(random.pick([3, 20]));
      return Object.fromEntries(
        Array.from({ length }, (_, i) => [`k${String(i)}`, randomValue(random, depth + 1)]),
      );
    }
  }
}
