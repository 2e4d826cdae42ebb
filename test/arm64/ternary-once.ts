/** What a ternary model answers here: `ternary-once.js MODEL` prints as JSON the digests of its logits and the ids that its heads choose. */
import { createHash } from 'node:crypto';
import { addon, type EngineOptions, type HeadSettings, type NativeModel } from '../../native/host/index.js';
import { greedy } from '../../client/ctl/bench/greedy.js';

/** More than one batch of 7. */
const ids = Int32Array.from({ length: 24 }, (_, i) => (i * 37 + 5) % 90);
const nSteps = 12;

async function digest(model: NativeModel, batch: number): Promise<string> {
  const session = model.openSession();
  const hash = createHash('sha256');
  for (let from = 0; from < ids.length; from += batch) {
    const { logits } = await session.forward(ids.subarray(from, from + batch), { logits: 'all' });
    hash.update(Buffer.from((logits ?? new Float32Array()).buffer));
  }
  session.close();
  return hash.digest('hex');
}

/** Greedy ids, and how many rows each step computed exactly. */
async function chosen(model: NativeModel, head: HeadSettings): Promise<{ ids: number[]; rows: number[] }> {
  const session = model.openSession();
  const out = { ids: [] as number[], rows: [] as number[] };
  let fed = ids;
  for (let i = 0; i < nSteps; i++) {
    const { id, head: step } = await session.step(fed, greedy, { head });
    out.ids.push(id);
    out.rows.push(step.rows);
    fed = Int32Array.of(id);
  }
  session.close();
  return out;
}

async function withModel<T>(options: EngineOptions, use: (model: NativeModel) => Promise<T>): Promise<T> {
  const engine = addon().openEngine(options);
  const model = await engine.openModel(process.argv[2] ?? '');
  const out = await use(model);
  model.close();
  engine.close();
  return out;
}

const answers: Record<string, unknown> = {};
for (const [memory, threads, batch] of [
  ['normal', 1, 24],
  ['low', 2, 7],
] as const) {
  for (const kv of ['f32', 'f16'] as const)
    answers[`logits, kv ${kv}, memory ${memory}`] = await withModel({ kv, memory, threads }, (model) =>
      digest(model, batch),
    );
  for (const headBits of [8, 4] as const)
    await withModel({ headBits, memory, threads }, async (model) => {
      for (const mode of ['full', 'certified', 'topk'] as const)
        answers[`${mode}, ${String(headBits)} bits, memory ${memory}`] = await chosen(model, { mode, k: 2 });
    });
}
process.stdout.write(`${JSON.stringify(answers)}\n`);
