import { openModelTokenizer, type ModelInfo, type Vocabulary } from '../../../../native/host/index.js';
import { sampleText } from './sample-text.js';

const english = 'The quick brown fox jumps over the lazy dog.';
/** Our wording of the paper's task: joules a token from a power and a speed. */
const chinese = '一台设备的功率是8瓦，每秒生成5个词元。请问每个词元消耗多少焦耳？';

/** Ids that the measurements feed, and where they come from. */
export interface Prompts {
  prompt: number[];
  promptSource: string;
  text: number[];
  textSource: string;
}

/**
 * The paper's Chinese prompt where the tokenizer has pieces for it, else the English one, with BOS in front as `spikectl run` has it; the text
 * to predict without. A model without a tokenizer gets ids of no meaning.
 *
 * @param text  of the caller's; a passage of ours when undefined
 */
export async function readPrompts(
  path: string,
  { validVocabSize }: ModelInfo,
  text: { path: string; bytes: Uint8Array } | undefined,
): Promise<Prompts> {
  const opened = await openModelTokenizer(path, {
    maxTextBytes: Math.max(text?.bytes.length ?? 0, 256 * 1024),
  });
  if (!opened) {
    const source = 'ids of no meaning (the model has no tokenizer)';
    const arbitrary = (n: number) => Array.from({ length: n }, (_, i) => (i * 7919 + 1) % validVocabSize);
    return { prompt: arbitrary(12), promptSource: source, text: arbitrary(600), textSource: source };
  }
  try {
    const encoded = await opened.encode(chinese);
    const known = hasPieces(opened.pieces, encoded);
    const ids = known ? encoded : await opened.encode(english);
    const { bosId } = opened.pieces;
    return {
      prompt: [...(bosId === undefined ? [] : [bosId]), ...ids],
      promptSource: known ? chinese : english,
      text: [...(await opened.encode(text?.bytes ?? sampleText))],
      textSource: text?.path ?? 'the first paragraphs of Jane Eyre (1847)',
    };
  } finally {
    await opened.close();
  }
}

/** Whether most of a text is pieces rather than bytes, and none of it unknown. */
function hasPieces(vocabulary: Vocabulary, ids: Int32Array): boolean {
  const kinds = Array.from(ids, (id) => vocabulary.kindOf(id));
  return !kinds.includes('unknown') && kinds.filter((kind) => kind === 'byte').length < kinds.length / 2;
}
