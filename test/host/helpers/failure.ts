import type { SpikedError } from '../../../client/protocol/errors.js';

/** The error that a call throws or its promise is rejected with. */
export async function failureOf(call: () => unknown): Promise<SpikedError> {
  try {
    await call();
  } catch (error) {
    return error as SpikedError;
  }
  throw new Error('expected a failure, found a result');
}
