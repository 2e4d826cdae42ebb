import { SpikedError } from '../../client/protocol/index.js';
import type { LoadedModel } from '../models/loaded-model.js';
import { encodeChat, type ChatMessage } from './chat.js';

export interface PromptParams {
  prompt?: string | undefined;
  tokens?: number[] | undefined;
  messages?: ChatMessage[] | undefined;
  bos: boolean;
}

/** @throws SpikedError ERR_TOKENIZER_MISSING, ERR_TEXT_TOO_LONG */
export function encodeText(model: LoadedModel, text: string, bos: boolean): Promise<Int32Array> {
  const tokenizer = model.needTokenizer();
  return withBos(model, bos, () => tokenizer.encode(text));
}

/**
 * @param before  ids of the conversation so far
 * @throws SpikedError ERR_MODEL_UNSUPPORTED, ERR_INVALID_ARGUMENT, ERR_TOKENIZER_MISSING, ERR_TEXT_TOO_LONG
 */
export function encodeMessages(
  model: LoadedModel,
  messages: readonly ChatMessage[],
  bos: boolean,
  before: readonly number[] = [],
): Promise<Int32Array> {
  return withBos(model, bos, () => encodeChat(model, messages, before));
}

/** The model stays in use while the tokenizer works. */
async function withBos(
  model: LoadedModel,
  bos: boolean,
  encode: () => Promise<Int32Array>,
): Promise<Int32Array> {
  const bosId = model.tokenizer?.pieces.bosId;
  model.acquire();
  try {
    const ids = await encode();
    if (!bos || bosId === undefined) return ids;
    const all = new Int32Array(ids.length + 1);
    all[0] = bosId;
    all.set(ids, 1);
    return all;
  } finally {
    model.release();
  }
}

/**
 * @param names  the ways to give a prompt that the method knows
 * @throws SpikedError ERR_INVALID_ARGUMENT unless exactly one of them is given
 */
export function checkOnePrompt<Name extends string>(
  method: string,
  params: Partial<Record<Name, unknown>>,
  names: readonly Name[],
): void {
  const given = names.filter((name) => params[name] !== undefined);
  if (given.length === 1) return;
  const quoted = (all: readonly string[]): string =>
    all
      .map((name) => `"${name}"`)
      .join(', ')
      .replace(/, ([^,]*)$/, ' and $1');
  throw new SpikedError(
    'ERR_INVALID_ARGUMENT',
    `${method}: expected exactly one of ${quoted(names)}, found ${given.length === 0 ? 'none' : quoted(given)}`,
  );
}

/**
 * The ids to feed.
 *
 * @param room ids that a prompt may have
 * @param before ids that are there already
 * @throws SpikedError ERR_PROMPT_EMPTY, ERR_TOKEN_UNKNOWN, ERR_CONTEXT_FULL, ERR_TOKENIZER_MISSING, ERR_TEXT_TOO_LONG, ERR_MODEL_FILE_CHANGED,
 *   ERR_MODEL_UNSUPPORTED, ERR_INVALID_ARGUMENT
 */
export async function readPrompt(
  model: LoadedModel,
  params: PromptParams,
  room: number,
  before: readonly number[] = [],
): Promise<Int32Array> {
  model.native.checkFile();
  const ids = await idsOf(model, params, before);
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

async function idsOf(
  model: LoadedModel,
  { prompt, messages, tokens, bos }: PromptParams,
  before: readonly number[],
): Promise<Int32Array> {
  if (messages !== undefined) return encodeMessages(model, messages, bos, before);
  if (prompt !== undefined) return encodeText(model, prompt, bos);
  return Int32Array.from(tokens ?? []);
}
