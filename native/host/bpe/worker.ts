/** The worker thread of one byte-level BPE tokenizer. */
import { parentPort, workerData } from 'node:worker_threads';
import { SpikedError } from '../../../client/protocol/errors.js';
import type { TokenizerReply, TokenizerRequest } from '../tokenizer-messages.js';
import { BpeEncoder } from './encoder.js';
import type { BpeSource } from './source.js';
import { readTables, type BpeTables } from './tables.js';

/** The tables once they were read: a thread that starts again must not read another file. */
export type BpeWorkerData = { source: BpeSource } | { tables: BpeTables };

const port = parentPort;
const post = (reply: TokenizerReply): void => port?.postMessage(reply);

try {
  const data = workerData as BpeWorkerData;
  const tables = 'tables' in data ? data.tables : await readTables(data.source);
  const encoder = new BpeEncoder(tables);
  port?.on('message', ({ id, text }: TokenizerRequest) => {
    try {
      post({ id, ids: encoder.encode(text) });
    } catch (error) {
      post({ id, error: String(error) });
    }
  });
  post({ id: 0, started: tables });
} catch (error) {
  if (error instanceof SpikedError) post({ id: 0, refused: { code: error.code, message: error.message } });
  else post({ id: 0, error: String(error) });
}
