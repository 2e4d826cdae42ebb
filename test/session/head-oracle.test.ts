/** Heads against 2,000 recorded hidden states whose exact products an independent program has, over 4,096 rows of F16. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HeadSettings, NativeModel, Choices } from '../../native/host/addon-types.js';
import { assert, sharedDir, suite } from '../tools/suite.js';
import { greedy, withModel } from './runs.js';

const test = suite('heads: recorded states');
const folder = join(sharedDir() ?? 'shared', 'golden-bitnet/lmhead');
const why = existsSync(folder) ? undefined : 'no golden-bitnet/lmhead in shared/ beside the checkout';

interface Entry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

/** Tensors of a small safetensors file, of types that the program's own reader has no use for. */
function tensors(path: string) {
  const file = readFileSync(path);
  const size = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString('utf8', 8, 8 + size)) as Record<string, Entry>;
  const bytes = (name: string, dtype: string): ArrayBuffer => {
    const entry = header[name];
    if (entry?.dtype !== dtype) throw new Error(`${path}: no ${dtype} tensor ${name}`);
    const [begin, end] = entry.data_offsets;
    return Uint8Array.from(file.subarray(8 + size + begin, 8 + size + end)).buffer;
  };
  return {
    f32: (name: string) => new Float32Array(bytes(name, 'F32')),
    f64: (name: string) => new Float64Array(bytes(name, 'F64')),
    i32: (name: string) => new Int32Array(bytes(name, 'I32')),
  };
}

interface Recorded {
  classes: string[];
  per_class: Record<string, { n: number; recall_at: Record<string, number> }>;
}

async function choose(model: NativeModel, hidden: Float32Array, head: HeadSettings): Promise<Choices> {
  const session = model.openSession();
  try {
    return await session.choose(hidden, greedy, head);
  } finally {
    session.close();
  }
}

test.needs(
  why,
  'full is the exact best row beyond rounding, certified is full, topk finds it as often as recorded',
  async () => {
    const recorded = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as Recorded;
    const file = tensors(join(folder, 'lmhead.safetensors'));
    const hidden = file.f32('hidden');
    const [best, gap, slack] = [file.i32('exact_argmax'), file.f64('exact_gap'), file.f64('f32_slack')];
    const classOf = file.i32('class_id');
    const top16 = file.i32('int8_top16');
    for (const memory of ['normal', 'low'] as const)
      await withModel(join(folder, 'model.gguf'), { threads: 2, memory }, async (model) => {
        const full = await choose(model, hidden, { mode: 'full' });
        let decided = 0;
        for (const [i, id] of full.ids.entries())
          if ((gap[i] ?? 0) > (slack[i] ?? 0)) {
            assert.is(id, best[i], `state ${i}`);
            decided++;
          }
        assert.ok(decided > 1000, `${decided} states are beyond rounding`);
        const proved = await choose(model, hidden, { mode: 'certified' });
        assert.equal(proved.ids, full.ids);
        const fell = new Set(
          proved.steps.flatMap((step, i) => (step.fellBack ? [recorded.classes[classOf[i] ?? 0]] : [])),
        );
        assert.equal([...fell], ['zero'], 'only ties of all rows fall back');
        for (const k of [1, 2, 4, 8, 16]) {
          const { ids, steps } = await choose(model, hidden, { mode: 'topk', k });
          assert.ok(steps.every(({ rows }) => rows === k));
          for (const [c, name] of recorded.classes.entries()) {
            const { n, recall_at } = recorded.per_class[name] ?? { n: 0, recall_at: {} };
            // Codes are rounded by another rule there; with one row the nearest ties go either way.
            const expected = (recall_at[k] ?? 1) - (k === 1 ? 0.2 : 0.05);
            const right = ids.filter((id, i) => classOf[i] === c && id === full.ids[i]).length;
            assert.ok(right >= expected * n, `${name}, k ${k}: ${right} of ${n}, expected ${expected}`);
          }
          if (k === 1) {
            const same = ids.filter((id, i) => id === top16[16 * i]).length;
            assert.ok(same > 0.98 * ids.length, `the scan's best row is the recorded one ${same} times`);
          }
        }
      });
  },
);

test.run();
