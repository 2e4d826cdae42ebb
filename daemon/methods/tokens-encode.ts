import { encodeText } from '../text/prompt.js';
import type { Handler } from './handler.js';

export const tokensEncode: Handler<'tokens.encode'> = async ({ text, model, bos }, { daemon }) => {
  const ids = await encodeText(daemon.models.get(model), text, bos);
  return { tokens: Array.from(ids) };
};
