import type { HeadSettings } from '../../../../native/host/index.js';

/** One way to decode that is held to plain greedy; `-low` in its name: with little memory. */
export interface Configuration {
  name: string;
  head: HeadSettings;
  memory: 'normal' | 'low';
  /** Whether its ids must be plain greedy's; of the others it is measured how often they are. */
  exact: boolean;
}

/** What the others are compared with: every row, everything in memory. */
export const plain: Configuration = { name: 'full', head: { mode: 'full' }, memory: 'normal', exact: true };

export const configurations: readonly Configuration[] = [
  plain,
  { name: 'certified', head: { mode: 'certified' }, memory: 'normal', exact: true },
  { name: 'full-low', head: { mode: 'full' }, memory: 'low', exact: true },
  { name: 'certified-low', head: { mode: 'certified' }, memory: 'low', exact: true },
];
