import { SpikedError, type FullParams } from '../../client/protocol/index.js';
import type { LoadedModel } from '../models/loaded-model.js';

export type ChatMessage = NonNullable<FullParams<'text.generate'>['messages']>[number];

const endOfTurn = '<|eot_id|>';
const roleNames = { system: 'System', user: 'User', assistant: 'Assistant' } as const;
/** Architectures whose published models were trained on this form. */
const architectures = new Set(['bitnet-b1.58', 'bitnet-25']);

/** Whether a model's conversations have a form that we know; what its file says of it does not count. */
export function hasChatForm({ native, tokenizer }: LoadedModel): boolean {
  return architectures.has(native.info.architecture) && tokenizer?.pieces.idOf(endOfTurn) !== undefined;
}

/**
 * The ids of a conversation that wants a reply, in the form of BitNet b1.58 2B4T: for each message `Role: trimmed content<|eot_id|>`, nothing
 * between them, then `Assistant: `. Role and content are encoded apart from each other, as in training.
 *
 * @param before  ids of the conversation so far: an answer that ended otherwise gets its <|eot_id|> first
 * @returns without BOS
 * @throws SpikedError ERR_MODEL_UNSUPPORTED for a model without this form, ERR_TOKENIZER_MISSING, ERR_TEXT_TOO_LONG, ERR_INVALID_ARGUMENT
 * @source microsoft/BitNet gpu/tokenizer.py, ChatFormat
 */
export async function encodeChat(
  model: LoadedModel,
  messages: readonly ChatMessage[],
  before: readonly number[],
): Promise<Int32Array> {
  const tokenizer = model.needTokenizer();
  const end = tokenizer.pieces.idOf(endOfTurn);
  if (!hasChatForm(model) || end === undefined)
    throw new SpikedError(
      'ERR_MODEL_UNSUPPORTED',
      `model "${model.name}": expected one with a known form of conversations (2B4T's), found ${model.native.info.architecture}; give "prompt" instead`,
    );
  if (messages.at(-1)?.role !== 'user')
    throw new SpikedError(
      'ERR_INVALID_ARGUMENT',
      `messages: expected the last one to be the user's, found ${messages.at(-1)?.role ?? 'none'}`,
    );
  tokenizer.checkLength(messages.map(({ content }) => content).join(''));
  const ids: number[] = [];
  const last = before.at(-1);
  if (last !== undefined && last !== end && last !== tokenizer.pieces.bosId) ids.push(end);
  const add = async (text: string): Promise<void> => {
    for (const id of await tokenizer.encode(text)) ids.push(id);
  };
  for (const { role, content } of messages) {
    await add(`${roleNames[role]}: `);
    await add(trimmed(content));
    ids.push(end);
  }
  await add(`${roleNames.assistant}: `);
  return Int32Array.from(ids);
}

const whiteSpace = /^\p{White_Space}$/u;

/** By Unicode's White_Space. A loop, because an expression for the end of a text takes quadratic time in a long run of spaces. */
function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && whiteSpace.test(text.charAt(start))) start++;
  while (end > start && whiteSpace.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}
