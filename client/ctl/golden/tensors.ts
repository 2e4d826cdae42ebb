import { InputFile } from '../../../export/input-file.js';
import { readSafetensorsEntries } from '../../../export/safetensors.js';
import { SpikedError } from '../../protocol/errors.js';

export interface GoldenTensor {
  shape: readonly number[];
  values: Float32Array | Int32Array;
}

/**
 * Every tensor of a safetensors file of reference data, which holds F32 and I32 only.
 *
 * @throws SpikedError ERR_FILE_NOT_FOUND, ERR_FILE_IO, ERR_CHECKPOINT_INVALID, ERR_CHECKPOINT_TENSOR
 */
export async function readTensors(path: string): Promise<Map<string, GoldenTensor>> {
  const file = await InputFile.open(path);
  try {
    const tensors = new Map<string, GoldenTensor>();
    for (const { name, dtype, shape, begin, end } of await readSafetensorsEntries(file)) {
      if (dtype !== 'f32' && dtype !== 'i32')
        throw new SpikedError(
          'ERR_CHECKPOINT_TENSOR',
          `${path}: tensor "${name}": expected f32 or i32, found ${dtype}`,
        );
      const count = (end - begin) / 4;
      const values = dtype === 'f32' ? new Float32Array(count) : new Int32Array(count);
      await file.readInto(new Uint8Array(values.buffer), begin);
      tensors.set(name, { shape, values });
    }
    return tensors;
  } finally {
    await file.close();
  }
}
