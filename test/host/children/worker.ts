/** A worker that computes with an engine of its own; told to do so without end, it goes on until it is terminated. */
import { createHash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { addon } from '../../../native/host/addon.js';
import { generatedSteps, type NativeSession } from '../../../native/host/index.js';
import { greedy } from '../../session/runs.js';

const { path, endless } = workerData as { path: string; endless?: 'forward' | 'generate' };
const engine = addon().openEngine({ threads: 2 });
const model = await engine.openModel(path);
const session = model.openSession();
const ids = Int32Array.from({ length: 300 }, (_, i) => (i * 37 + 11) % 96);
/** Several of them take turns, so that some wait in the middle of their work. */
async function generate(own: NativeSession, begun: () => void): Promise<never> {
  const limits = { maxTokens: 1_000_000, stopIds: new Int32Array() };
  for (let next = ids.subarray(0, 3); ;) {
    await own.generate(next, { ...greedy, temperature: 1 }, limits, (rows, n) => {
      next = Int32Array.of(generatedSteps(rows, n).at(-1)?.id ?? 0);
      begun();
    });
  }
}
if (endless === 'generate') {
  let told = false;
  const begun = (): void => {
    if (!told) parentPort?.postMessage('running');
    told = true;
  };
  await Promise.all([session, model.openSession(), model.openSession()].map((own) => generate(own, begun)));
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
