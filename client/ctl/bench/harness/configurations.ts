import type { HeadSettings } from '../../../../native/host/index.js';

/** One way to decode that is held to plain greedy; `-low` in its name: with little memory; `-4bit`: with a first pass of 4-bit weights. */
export interface Configuration {
  name: string;
  head: HeadSettings;
  memory: 'normal' | 'low';
  /** Of a weight in the head's first pass; 8 when absent. */
  headBits?: 4 | undefined;
  /** Most ids that a pass guesses and verifies; none when absent. */
  maxDraft?: number | undefined;
  /** Whether its ids must be plain greedy's; of the others it is measured how often they are. */
  exact: boolean;
}

/** What the others are compared with: every row, everything in memory. */
export const plain: Configuration = { name: 'full', head: { mode: 'full' }, memory: 'normal', exact: true };

/** Unproved: the K best of every 4096 rows of an int8 pass, computed exactly. */
const topk = [1, 2, 4, 8, 16].map((k): Configuration => ({
  name: `topk-${k}`,
  head: { mode: 'topk', k },
  memory: 'normal',
  exact: false,
}));

export const configurations: readonly Configuration[] = [
  plain,
  ...topk,
  { name: 'certified', head: { mode: 'certified' }, memory: 'normal', exact: true },
  { name: 'full-drafts', head: { mode: 'full' }, memory: 'normal', maxDraft: 7, exact: true },
  { name: 'certified-drafts', head: { mode: 'certified' }, memory: 'normal', maxDraft: 7, exact: true },
  { name: 'full-low', head: { mode: 'full' }, memory: 'low', exact: true },
  { name: 'certified-low', head: { mode: 'certified' }, memory: 'low', exact: true },
  { name: 'topk-4-low', head: { mode: 'topk', k: 4 }, memory: 'low', exact: false },
  { name: 'certified-low-4bit', head: { mode: 'certified' }, memory: 'low', headBits: 4, exact: true },
  { name: 'topk-4-low-4bit', head: { mode: 'topk', k: 4 }, memory: 'low', headBits: 4, exact: false },
];
