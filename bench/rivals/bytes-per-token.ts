import { addon } from '../../native/host/index.js';

/** All tensors of a GGUF file but the embedding, unless the head is the embedding. */
export async function bytesPerToken(file: string): Promise<number> {
  const { tensors } = JSON.parse(await addon().describeFile(file)) as {
    tensors: { name: string; size_bytes: number }[];
  };
  const tied = !tensors.some(({ name }) => name === 'output.weight');
  return tensors
    .filter(({ name }) => tied || name !== 'token_embd.weight')
    .reduce((sum, tensor) => sum + tensor.size_bytes, 0);
}
