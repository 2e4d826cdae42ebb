import { SpikedError } from '../../../client/protocol/errors.js';

/** What a metadata key of a tokenizer has wrong. */
export function invalid(key: string, what: string): SpikedError {
  return new SpikedError('ERR_TOKENIZER_INVALID', `metadata "${key}": ${what}`);
}
