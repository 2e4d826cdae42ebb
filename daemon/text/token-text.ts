import type { IdDecoder } from '../../native/host/index.js';
import type { LoadedModel } from '../models/loaded-model.js';

/**
 * The text that generated ids add to their prompt's: prompt text and this joined are the text of all ids, so the first word keeps its
 * space. Always empty for a model without a tokenizer.
 */
export class TokenText {
  private readonly detokenizer: IdDecoder | undefined;

  constructor(model: LoadedModel, prompt: Int32Array) {
    const { tokenizer } = model;
    this.detokenizer = tokenizer?.detokenizer();
    // Ids beyond the tokenizer are rows of the model that have no text.
    for (const id of prompt) if (tokenizer && id < tokenizer.pieces.size) this.detokenizer?.push(id);
  }

  /** What is complete with this id; never part of a UTF-8 sequence. */
  push(id: number): string {
    return this.detokenizer?.push(id) ?? '';
  }

  /** Bytes of an unfinished sequence, as U+FFFD. */
  end(): string {
    return this.detokenizer?.end() ?? '';
  }
}
