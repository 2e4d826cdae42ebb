import type { SpikedError } from '../../../client/index.js';

/**
 * What a call was refused with.
 *
 * @throws Error when it was answered
 */
export async function refused(call: Promise<unknown>): Promise<SpikedError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown as SpikedError,
  );
  if (error === undefined) throw new Error('expected a refusal, found an answer');
  return error;
}
