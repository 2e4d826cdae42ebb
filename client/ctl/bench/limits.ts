import { freemem } from 'node:os';
import { addon } from '../../../native/host/index.js';
import type { Activations, ArithmeticPeak, ModelInfo } from '../../../native/host/index.js';

const gib = 2 ** 30;

/** Bytes to read in a measurement: 1 GiB, less where the machine has not that much to spare. */
export function roomyBytes(): number {
  return Math.min(gib, 2 ** Math.floor(Math.log2(Math.max(freemem() / 2, 2 ** 26))));
}

/** Finds out before long measurements that each of so many threads has a CPU of its own. @throws SpikedError ERR_INVALID_ARGUMENT */
export async function checkThreads(threads: number): Promise<void> {
  await addon().readBandwidth(threads, threads * 2 ** 20, 1);
}

/** GB/s of a plain read by so many threads: the median of `passes`. */
export function bandwidth(threads: number, passes: number): Promise<number> {
  return addon().readBandwidth(threads, roomyBytes(), passes);
}

// Ternary weights meet int8 activations in products of bytes.
const dtypes = { f32: 'f32', int8: 'i8', int4mix: 'i4', i2_s: 'i8' } as const;

/** What the multiply-adds of the model's dense products reach on registers alone; null where no peak is known for the ISA. */
export function arithmeticPeak(
  engine: { isa: string; activations: Activations },
  { weights }: Pick<ModelInfo, 'weights'>,
  threads: number,
): Promise<ArithmeticPeak | null> {
  return addon().arithmeticPeak(
    engine.isa,
    dtypes[weights],
    weights === 'i2_s' ? 'i8' : engine.activations,
    threads,
    3,
  );
}
