import { SpikedError } from '../../client/protocol/index.js';
import type { LoadedModel } from '../models/loaded-model.js';

export interface PromptParams {
  prompt?: string | undefined;
  tokens?: number[] | undefined;
  bos: boolean;
}

/** @throws SpikedError ERR_TOKENIZER_MISSING, ERR_TEXT_TOO_LONG */
export async function encodeText(model: LoadedModel, text: string, bos: boolean): Promise<Int32Array> {
  const tokenizer = model.needTokenizer();
  const { bosId } = tokenizer.pieces;
  model.acquire();
  try {
    const ids = await tokenizer.encode(text);
    if (!bos || bosId === undefined) return ids;
    const withBos = new Int32Array(ids.length + 1);
    withBos[0] = bosId;
    withBos.set(ids, 1);
    return withBos;
  } finally {
    model.release();
  }
}

/** @throws SpikedError ERR_INVALID_ARGUMENT unless exactly one of prompt and tokens is given */
export function checkOnePrompt(method: string, { prompt, tokens }: PromptParams): void {
  if ((prompt === undefined) !== (tokens === undefined)) return;
  const found = prompt === undefined ? 'neither' : 'both';
  throw new SpikedError(
    'ERR_INVALID_ARGUMENT',
    `${method}: expected exactly one of "prompt" and "tokens", found ${found}`,
  );
}

/**
 * The ids to feed.
 *
 * @param room ids that a prompt may have
 * @throws SpikedError ERR_PROMPT_EMPTY, ERR_TOKEN_UNKNOWN, ERR_CONTEXT_FULL, ERR_TOKENIZER_MISSING, ERR_TEXT_TOO_LONG, ERR_MODEL_FILE_CHANGED
 */
export async function readPrompt(
  model: LoadedModel,
  params: PromptParams,
  room: number,
): Promise<Int32Array> {
  model.native.checkFile();
  const ids =
    params.prompt === undefined
      ? Int32Array.from(params.tokens ?? [])
      : await encodeText(model, params.prompt, params.bos);
  if (ids.length === 0)
    throw new SpikedError('ERR_PROMPT_EMPTY', 'prompt: expected at least one token, found none');
  const size = model.native.info.vocabSize;
  const unknown = ids.find((id) => id >= size);
  if (unknown !== undefined) {
    throw new SpikedError('ERR_TOKEN_UNKNOWN', `tokens: expected ids below ${size}, found ${unknown}`);
  }
  if (ids.length > room) {
    const limit = `a context of ${model.contextLimit} tokens`;
    throw new SpikedError(
      'ERR_CONTEXT_FULL',
      `prompt: expected at most ${room} tokens (${limit}), found ${ids.length}`,
    );
  }
  return ids;
}
