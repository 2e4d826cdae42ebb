import { checkOnePrompt, encodeMessages, encodeText } from '../text/prompt.js';
import type { Handler } from './handler.js';

export const tokensEncode: Handler<'tokens.encode'> = async (params, { daemon }) => {
  checkOnePrompt('tokens.encode', params, ['text', 'messages']);
  const { text, messages, bos } = params;
  const model = daemon.models.get(params.model);
  const ids = await (messages === undefined
    ? encodeText(model, text ?? '', bos)
    : encodeMessages(model, messages, bos));
  return { tokens: Array.from(ids) };
};
