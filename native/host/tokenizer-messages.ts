import type { ErrorCode } from '../../client/protocol/errors.js';

export interface TokenizerRequest {
  id: number;
  /** UTF-8 */
  text: Uint8Array;
}

/** With id 0: whether the tokenizer could be loaded. */
export interface TokenizerReply {
  id: number;
  ids?: Int32Array;
  /** What the thread has to show for its start. */
  started?: unknown;
  /** It cannot go on. */
  error?: string;
  /** Its data are at fault, in the words for the caller. */
  refused?: { code: ErrorCode; message: string };
}
