import type { Handler } from './handler.js';

export const tokensDecode: Handler<'tokens.decode'> = async ({ tokens, model: name }, { daemon }) => {
  const model = daemon.models.get(name);
  const tokenizer = model.needTokenizer();
  model.acquire();
  try {
    return { text: await tokenizer.decode(tokens) };
  } finally {
    model.release();
  }
};
