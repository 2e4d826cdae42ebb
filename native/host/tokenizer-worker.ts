/** The worker thread of one tokenizer: real SentencePiece, compiled to WASM. */
import { Buffer } from 'node:buffer';
import { parentPort, workerData } from 'node:worker_threads';
import * as library from '@sctg/sentencepiece-js';
import type { TokenizerReply, TokenizerRequest } from './tokenizer-messages.js';

/** The parts of the library that we use; it types them as any. */
interface Processor {
  loadFromB64StringModel(model: string): Promise<void>;
  /** Takes bytes too, which keeps it from guessing at lone surrogates. */
  encodeIds(text: Uint8Array): number[];
  processor: { status(): { ToString(): string; delete(): void } };
}

const processor = new (library.SentencePieceProcessor as unknown as new () => Processor)();
const port = parentPort;
const post = (reply: TokenizerReply): void => port?.postMessage(reply);

try {
  const { model } = workerData as { model: Uint8Array };
  await processor.loadFromB64StringModel(Buffer.from(model).toString('base64'));
  const status = processor.processor.status();
  const state = status.ToString();
  status.delete();
  if (state !== 'OK') throw new Error(state);
  port?.on('message', ({ id, text }: TokenizerRequest) => {
    try {
      post({ id, ids: Int32Array.from(processor.encodeIds(text)) });
    } catch (error) {
      post({ id, error: String(error) });
    }
  });
  post({ id: 0 });
} catch (error) {
  post({ id: 0, error: String(error) });
}
