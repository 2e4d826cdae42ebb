import { InputFile } from '../../../export/input-file.js';
import { readSafetensorsEntries } from '../../../export/safetensors.js';
import { SpikedError } from '../../protocol/errors.js';
import type { Values } from './compare.js';

export interface GoldenTensor {
  shape: readonly number[];
  values: Values;
}

/**
 * Every tensor of a safetensors file of reference data, which holds F32, I32 and I8 only.
 *
 * @throws SpikedError ERR_FILE_NOT_FOUND, ERR_FILE_IO, ERR_CHECKPOINT_INVALID, ERR_CHECKPOINT_TENSOR
 */
export async function readTensors(path: string): Promise<Map<string, GoldenTensor>> {
  const file = await InputFile.open(path);
  try {
    const tensors = new Map<string, GoldenTensor>();
    for (const { name, dtype, shape, begin, end } of await readSafetensorsEntries(file)) {
      if (dtype !== 'f32' && dtype !== 'i32' && dtype !== 'i8')
        throw new SpikedError(
          'ERR_CHECKPOINT_TENSOR',
          `${path}: tensor "${name}": expected f32, i32 or i8, found ${dtype}`,
        );
      const Type = { f32: Float32Array, i32: Int32Array, i8: Int8Array }[dtype];
      const values = new Type((end - begin) / Type.BYTES_PER_ELEMENT);
      await file.readInto(new Uint8Array(values.buffer), begin);
      tensors.set(name, { shape, values });
    }
    return tensors;
  } finally {
    await file.close();
  }
}
