/** Forgets sessions, models and an engine without closing them: collection alone must free them. Needs --expose-gc. */
import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as tick } from 'node:timers/promises';
import { addon } from '../../../native/host/addon.js';

const path = process.argv[2] ?? '';
const gc = globalThis.gc;
if (gc === undefined) throw new Error('expected --expose-gc');

async function collect(): Promise<void> {
  for (let i = 0; i < 6; i++) {
    gc?.();
    await tick();
  }
}
const rssMib = (): number => process.memoryUsage().rss / 2 ** 20;
const mapped = (): boolean => readFileSync('/proc/self/maps', 'utf8').includes(path);
const engineThreads = (): number =>
  readdirSync('/proc/self/task').filter((id) => {
    try {
      return readFileSync(`/proc/self/task/${id}/comm`, 'utf8').startsWith('spiked-engine');
    } catch {
      return false; // it ended meanwhile
    }
  }).length;

async function use(n: number): Promise<number> {
  const engine = addon().openEngine({ threads: 1 });
  const model = await engine.openModel(path);
  let stateBytes = 0;
  for (let i = 0; i < n; i++) {
    const session = model.openSession();
    await session.forward(Int32Array.of(1, 2, 3), { logits: 'last' });
    stateBytes += session.stats().stateBytes;
    if (i % 20 === 19) await collect();
  }
  return stateBytes / 2 ** 20;
}

await use(20);
await collect();
const before = rssMib();
const heldMib = await use(800);
await collect();
process.stdout.write(
  `${JSON.stringify({ heldMib, grownMib: rssMib() - before, mapped: mapped(), engineThreads: engineThreads() })}\n`,
);
