import type { Plan } from './plan.js';

export interface Block {
  /** From 1, through the whole experiment. */
  readonly block: number;
  readonly candidate: string;
  /** Names of arms, in the order of their runs: ABBA or BAAB, A the baseline. */
  readonly slots: readonly string[];
}

/**
 * All blocks in the order in which they are run: rounds in which every candidate has one, the candidates of a round in an order drawn by the
 * plan's seed. A candidate's blocks are ABBA and BAAB in turn, the first of them drawn, too: a linear drift cancels inside each block,
 * a quadratic one between two.
 *
 * @source energy-method 2.4
 */
export function orderOf(plan: Pick<Plan, 'arms' | 'blocks' | 'seed'>): Block[] {
  const [baseline, ...candidates] = plan.arms.map(({ name }) => name);
  if (baseline === undefined) return [];
  const draw = random(plan.seed);
  const first = new Map(candidates.map((name) => [name, draw() < 0.5]));
  const blocks: Block[] = [];
  for (let round = 0; round < plan.blocks; round++)
    for (const candidate of shuffled(candidates, draw)) {
      const [a, b] =
        first.get(candidate) === (round % 2 === 0) ? [baseline, candidate] : [candidate, baseline];
      blocks.push({ block: blocks.length + 1, candidate, slots: [a, b, b, a] });
    }
  return blocks;
}

function shuffled(names: readonly string[], draw: () => number): string[] {
  const all = [...names];
  for (let i = all.length - 1; i > 0; i--) {
    const j = Math.floor(draw() * (i + 1));
    [all[i], all[j]] = [all[j] ?? '', all[i] ?? ''];
  }
  return all;
}

/** Uniform in [0, 1), the same numbers for the same seed on every machine (splitmix64's finaliser over a counter). */
function random(seed: number): () => number {
  const mask = (1n << 64n) - 1n;
  let state = BigInt(seed) & mask;
  return () => {
    state = (state + 0x9e3779b97f4a7c15n) & mask;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
    return Number((z ^ (z >> 31n)) >> 11n) / 2 ** 53;
  };
}
