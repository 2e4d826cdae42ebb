import { openCheckpoint, type Checkpoint, type CheckpointTensor } from '../../../export/checkpoint.js';
import { SpikedError } from '../../../client/protocol/errors.js';

export function readAll(tensor: CheckpointTensor): Promise<Float32Array> {
  return tensor.readRows(0, tensor.shape[0] ?? 1);
}

export async function withCheckpoint<T>(
  path: string,
  use: (checkpoint: Checkpoint) => Promise<T> | T,
): Promise<T> {
  const checkpoint = await openCheckpoint(path);
  try {
    return await use(checkpoint);
  } finally {
    await checkpoint.close();
  }
}

/** Opens a file and reads every tensor, as an export would. */
export async function readEverything(path: string): Promise<void> {
  await withCheckpoint(path, async ({ tensors }) => {
    for (const tensor of tensors.values()) await readAll(tensor);
  });
}

/** The SpikedError that `run` ends with; any other end is the test's failure. */
export async function failureOf(run: () => unknown): Promise<SpikedError> {
  try {
    await run();
  } catch (error) {
    if (error instanceof SpikedError) return error;
    throw error;
  }
  throw new Error('expected a SpikedError, found success');
}

export function named(tensors: Map<string, CheckpointTensor>, name: string): CheckpointTensor {
  const tensor = tensors.get(name);
  if (tensor === undefined)
    throw new Error(`expected a tensor "${name}", found ${[...tensors.keys()].join()}`);
  return tensor;
}
