import { openTokenizer, readFileBytes, type NativeModel, type Tokenizer } from '../../native/host/index.js';

/**
 * The tokenizer inside a model's file; null when there is none.
 *
 * @throws SpikedError ERR_TOKENIZER_INVALID, ERR_FILE_IO, ERR_MODEL_FILE_CHANGED
 */
export async function openModelTokenizer(
  path: string,
  model: NativeModel,
  maxTextBytes: number,
): Promise<Tokenizer | null> {
  const { tokenizer } = model.info;
  if (tokenizer.sizeBytes === 0) return null;
  return openTokenizer(await readFileBytes(path, tokenizer), { maxTextBytes });
}
