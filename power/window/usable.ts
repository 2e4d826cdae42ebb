import type { MeterTraits, Sample } from '../meters/meter.js';

/** Why a sample counts as missing; the names are those of the flags. */
export type Fault = 'lost' | 'saturated' | 'negative' | 'checksum' | 'no-value' | 'suspect';

/** In this order where there are several: what came with a wrong checksum proves nothing of range or wiring. */
const faults: readonly Fault[] = ['lost', 'checksum', 'saturated', 'negative', 'no-value', 'suspect'];

/** No board draws a gigawatt; a reading beyond is a decoding error, and sums of such ones could overflow. */
const absurdWatts = 1e9;

/** What makes a sample unusable, null for a good one. Flags first; a trace from elsewhere may have none, so the watts are looked at too. */
export function faultOf(sample: Sample, traits: MeterTraits): Fault | null {
  const flagged = faults.find((fault) => sample.flags.includes(fault));
  if (flagged !== undefined) return flagged;
  const { watts } = sample;
  if (watts === null || !Number.isFinite(watts)) return 'no-value';
  if (Math.abs(watts) > absurdWatts) return 'suspect';
  if (traits.maxWatts !== null && watts > traits.maxWatts) return 'saturated';
  if (watts < 0 && traits.current === 'alternating') return 'negative';
  return null;
}
