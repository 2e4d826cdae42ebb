import { SpikedError } from '../client/protocol/index.js';
import type { Addon } from '../native/host/index.js';

/** Inputs of the self-test: any will do, the same ones repeat a failure. */
const seed = 1n;

/**
 * Compares every kernel of an instruction set with scalar code, bit by bit, on threads of its own: a third of a second on a desktop core.
 *
 * @throws SpikedError ERR_CHECK_FAILED naming the first kernel that differs
 */
export async function selfTest(addon: Addon, isa: string): Promise<void> {
  const lines = await addon.selfTest(isa, seed);
  const wrong = lines.find(({ failures }) => failures > 0);
  if (!wrong) return;
  const { kernel, cases, failures, detail } = wrong;
  throw new SpikedError(
    'ERR_CHECK_FAILED',
    `self-test of "${isa}": kernel ${kernel}: expected the bits of scalar in ${cases} cases, found others in ${failures}: ${detail}`,
  );
}
