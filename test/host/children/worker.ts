/** A worker that computes with an engine of its own; told to do so without end, it goes on until it is terminated. */
import { createHash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { addon } from '../../../native/host/addon.js';
import { greedy } from '../../session/runs.js';

const { path, endless } = workerData as { path: string; endless?: 'forward' | 'generate' };
const engine = addon().openEngine({ threads: 2 });
const model = await engine.openModel(path);
const session = model.openSession();
const ids = Int32Array.from({ length: 300 }, (_, i) => (i * 37 + 11) % 96);
if (endless === 'generate') {
  const sampling = { ...greedy, temperature: 1 };
  const limits = { maxTokens: 1_000_000, stopIds: new Int32Array() };
  let next = ids.subarray(0, 3);
  for (let begun = false; ;) {
    await session.generate(next, sampling, limits, (steps) => {
      next = Int32Array.of(steps.at(-1)?.id ?? 0);
      if (!begun) parentPort?.postMessage('running');
      begun = true;
    });
  }
}
if (endless === 'forward') {
  parentPort?.postMessage('running');
  for (;;) await session.forward(ids, { logits: 'all' });
}
const { logits } = await session.forward(ids, { logits: 'last' });
parentPort?.postMessage(
  createHash('sha256')
    .update(logits ?? '')
    .digest('hex'),
);
