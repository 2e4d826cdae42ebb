/** Leaves the process in the way it is told, with an engine, a model and a session open. */
import { addon } from '../../../native/host/addon.js';
import { greedy } from '../../session/runs.js';

const [path = '', how = ''] = process.argv.slice(2);
const engine = addon().openEngine({ threads: 2 });
const model = await engine.openModel(path);
const session = model.openSession();
const ids = Int32Array.from({ length: 5000 }, (_, i) => (i * 37 + 11) % 96);
if (how === 'idle') {
  await session.forward(ids.subarray(0, 3), { logits: 'last' });
  process.stdout.write('done\n'); // nothing is under way: the process ends by itself
} else if (how === 'awaited') {
  void session.forward(ids.subarray(0, 300), { logits: 'none' }).then(() => process.stdout.write('done\n'));
} else if (how === 'generating') {
  const limits = { maxTokens: 1_000_000, stopIds: new Int32Array() };
  for (const each of [session, model.openSession()])
    void each.generate(ids.subarray(0, 3), greedy, limits, () => undefined);
  setTimeout(() => {
    process.stdout.write('done\n');
    process.exit(0);
  }, 30);
} else {
  void session.forward(ids, { logits: 'none' });
  void model.openSession().forward(ids, { logits: 'none' });
  void addon().readBandwidth(1, 1 << 22, 3);
  setTimeout(() => {
    process.stdout.write('done\n');
    process.exit(0); // in the middle of work, with more waiting
  }, 30);
}
