import { tempDir } from '../../tools/suite.js';
import { syntheticFiles, writeFiles, type SyntheticArm, type SyntheticOptions } from './synthetic.js';

/** W of each run, the same for the same block and slot: some runs a little more, some a little less. */
export function wattsAround(level: number, spread = 0.05): SyntheticArm['watts'] {
  return (block, slot) => level + spread * Math.sin(12.9898 * block + 78.233 * slot);
}

/** Two arms of one rate; the candidate draws less. */
export const pair: SyntheticOptions = {
  blocks: 2,
  tokens: 150,
  stepWatts: 0.001,
  arms: [
    { name: 'f32', watts: wattsAround(10.4), tokensPerSecond: 10 },
    { name: 'k32', watts: wattsAround(9.8), tokensPerSecond: 10 },
  ],
};

/** Noise of a meter, the same on every machine: added to the sample at `tS`. */
export function noise(tS: number, sd: number): number {
  const i = Math.round(tS * 1000);
  const uniform = (k: number) =>
    ((Math.imul(i ^ (k * 0x9e3779b9), 0x85ebca6b) >>> 8) % 65_536) / 65_536 - 0.5;
  return sd * (uniform(1) + uniform(2) + uniform(3)) * 2;
}

/** A line of samples.csv of a meter that gives watts only. */
export function sampleLine(tS: number, watts: number, flags = ''): string {
  return `${BigInt(Math.round(tS * 1e9))},${Number(watts.toFixed(6))},,,,${flags}`;
}

/** A folder of its own with the experiment in it. */
export function writeSynthetic(options: SyntheticOptions): Promise<string> {
  return writeFiles(tempDir(), syntheticFiles(options));
}
