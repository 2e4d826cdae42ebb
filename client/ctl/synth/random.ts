/**
 * Fills `out` with mean + spread * u, u uniform in [-1, 1): murmur3's finaliser over a Weyl sequence.
 * Uniform weights serve as well as normal ones, since every sum over them is normal anyway, and cost a few
 * nanoseconds each: hundreds of millions are needed.
 */
export function fillUniform(out: Float32Array, start: number, mean: number, spread: number): void {
  const scale = spread * 2 ** -31;
  let weyl = start;
  for (let i = 0; i < out.length; i++) {
    weyl = (weyl + 0x9e3779b9) | 0;
    out[i] = mean + scale * mixed(weyl);
  }
}

/** Fills `out` with the same generator's 32-bit numbers. */
export function fillWords(out: Uint32Array, start: number): void {
  let weyl = start;
  for (let i = 0; i < out.length; i++) {
    weyl = (weyl + 0x9e3779b9) | 0;
    out[i] = mixed(weyl);
  }
}

/** Start of a stream that depends on every argument, so that rows can be made in any order and any blocks. */
export function streamStart(seed: bigint, name: string, row: number): number {
  let hash = mixed(Number(BigInt.asIntN(32, seed)) ^ mixed(Number(BigInt.asIntN(32, seed >> 32n)) + 1));
  for (let i = 0; i < name.length; i++) hash = mixed(hash ^ Math.imul(name.charCodeAt(i) + 1, 0x9e3779b9));
  return mixed(hash ^ Math.imul(row + 1, 0x85ebca6b));
}

function mixed(value: number): number {
  let z = value;
  z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
  z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
  return z ^ (z >>> 16);
}
