/** A worker that computes with an engine of its own; told "endless", it goes on until it is terminated. */
import { createHash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { addon } from '../../../native/host/addon.js';

const { path, endless } = workerData as { path: string; endless: boolean };
const engine = addon().openEngine({ threads: 2 });
const model = await engine.openModel(path);
const session = model.openSession();
const ids = Int32Array.from({ length: 300 }, (_, i) => (i * 37 + 11) % 96);
if (endless) {
  parentPort?.postMessage('running');
  for (;;) await session.forward(ids, { logits: 'all' });
}
const { logits } = await session.forward(ids, { logits: 'last' });
parentPort?.postMessage(
  createHash('sha256')
    .update(logits ?? '')
    .digest('hex'),
);
