/** Loads the model and fills the windows of sessions; prints what the process grew by and what was promised for it. */
import { addon } from '../../../native/host/index.js';
import type { Loading, NativeSession } from '../../../native/host/index.js';
import { ids } from '../runs.js';

const sessions = 12;
const [path = '', loading] = process.argv.slice(2);
const engine = addon().openEngine({ threads: 1, loading: loading as Loading });
const before = process.memoryUsage.rss();
const model = await engine.openModel(path);
const held: NativeSession[] = [];
for (let i = 0; i < sessions; i++) {
  const session = model.openSession();
  await session.forward(ids(model.info.window + model.info.nAnchors + 32, 512), { logits: 'none' });
  held.push(session);
}
const grownBytes = process.memoryUsage.rss() - before;
const { weightsBytes, copiesBytes, sessionsBytes, scratchBytes } = engine.memory();
const promisedBytes = weightsBytes + copiesBytes + sessionsBytes + scratchBytes;
process.stdout.write(JSON.stringify({ grownBytes, promisedBytes, held: held.length }));
