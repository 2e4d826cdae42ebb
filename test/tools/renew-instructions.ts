/** Counts every kernel's instructions anew: writes what the `instructions` stage expects, and the report in docs/bench. */
import { writeFileSync } from 'node:fs';
import { compiler } from './compiler.js';
import {
  CannotCount,
  count,
  expectedPath,
  isas,
  neonReport,
  readExpected,
  reportPath,
  type Expected,
} from './instructions.js';
import { root } from './paths.js';
import { run } from './process.js';

const before = readExpected();
const gcc = (await run(compiler(), ['-dumpfullversion'])).stdout.trim();
const expected: Expected = { ...before, gcc, counts: { ...before.counts } };
for (const isa of isas) {
  try {
    const { counts, weights } = await count(isa, gcc);
    expected.counts[isa] = counts;
    expected.weights = weights;
  } catch (error) {
    if (!(error instanceof CannotCount) || gcc !== before.gcc) throw error;
    process.stdout.write(`${isa}: ${error.message}; its counts stay as they are\n`);
  }
}
for (const [path, value] of [
  [expectedPath, expected],
  [reportPath, neonReport(expected)],
] as const) {
  writeFileSync(path, JSON.stringify(value, null, 2));
  await run('npx', ['--no-install', 'prettier', '--write', path], { cwd: root });
  process.stdout.write(`${path}\n`);
}
