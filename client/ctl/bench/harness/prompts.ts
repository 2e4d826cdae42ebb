import { openModelTokenizer, type ModelInfo } from '../../../../native/host/index.js';

/** Tokens that are generated after each. */
export const harnessTokens = 20;

const texts = [
  'The capital of France is',
  'The capital of Japan is',
  'Water boils at a temperature of',
  'The largest planet in the solar system is',
  'def fibonacci(n):',
  'import numpy as np',
  'The quick brown fox',
  'Once upon a time, there was a',
  '2 + 2 =',
  'The president of the United States lives in',
  'My favorite hobby is',
  'The chemical symbol for gold is',
  'In machine learning, a neural network',
  'She walked into the room and',
  'The speed of light is approximately',
];

export interface HarnessPrompts {
  /** One list a prompt. */
  ids: number[][];
  source: string;
}

/** The prompts as ids, with BOS in front; as many ids of no meaning for a model without a tokenizer. */
export async function readHarnessPrompts(path: string, info: ModelInfo): Promise<HarnessPrompts> {
  const tokenizer = await openModelTokenizer(path);
  if (tokenizer === null)
    return {
      ids: texts.map((text, i) => arbitrary(1 + Math.ceil(text.length / 4), i, info.validVocabSize)),
      source: 'ids of no meaning (the model has no tokenizer)',
    };
  try {
    const { bosId } = tokenizer.pieces;
    const ids: number[][] = [];
    for (const text of texts)
      ids.push([...(bosId === undefined ? [] : [bosId]), ...(await tokenizer.encode(text))]);
    return { ids, source: `${texts.length} texts in the model's tokens` };
  } finally {
    await tokenizer.close();
  }
}

function arbitrary(n: number, prompt: number, vocabSize: number): number[] {
  return Array.from({ length: n }, (_, i) => (i * 7919 + prompt * 104_729 + 1) % vocabSize);
}
