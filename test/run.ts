/**
 * The one test command: `npm test` builds and runs this file.
 *
 *     node dist/test/run.js [--long] [--list] [--only PATTERN]...
 *
 * --only takes the name of a stage or a part of a test file's path. Stages that need a tool beyond Node, a compiler and cmake
 * are skipped, with the reason, where it is missing. The last line is `N passed, N failed, N skipped`.
 */
import { parseArgs } from 'node:util';
import type { RunnerOptions, Stage } from './tools/report.js';
import { format } from './tools/stages/format.js';
import { lint } from './tools/stages/lint.js';
import { fuzz } from './tools/stages/fuzz.js';
import { instructions } from './tools/stages/instructions.js';
import { native } from './tools/stages/native.js';
import { asan, tsan } from './tools/stages/sanitizers.js';
import { suites } from './tools/stages/suites.js';
import { types } from './tools/stages/types.js';

const inFolder = (folder: string) => (file: string) => file.startsWith(`test/${folder}/`);
const layers = suites('layers', inFolder('layers'));
const arm64 = suites('arm64', inFolder('arm64'));
const rest = suites('suites', (file) => !layers.files().includes(file) && !arm64.files().includes(file));

const stages: (Stage & { files?: () => string[] })[] = [
  format,
  lint,
  types,
  layers,
  native,
  rest,
  asan,
  tsan,
  fuzz,
  arm64,
  instructions,
];

const { values } = parseArgs({
  options: {
    long: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
  },
});
const options: RunnerOptions = { long: values.long, only: values.only };

const wanted = stages.filter(
  ({ name, files }) =>
    options.only.length === 0 ||
    options.only.some((p) => name === p || files?.().some((file) => file.includes(p))),
);

if (values.list) {
  for (const { name, files } of wanted) {
    process.stdout.write(`${name}\n`);
    for (const file of files?.() ?? []) process.stdout.write(`  ${file}\n`);
  }
  process.exit(0);
}
if (wanted.length === 0) {
  process.stderr.write(`--only ${options.only.join(' ')}: no stage and no test file has this name\n`);
  process.exit(2);
}

let passed = 0;
let failed = 0;
const failedStages: string[] = [];
const skips: string[] = [];
for (const stage of wanted) {
  process.stdout.write(`${stage.name}\n`);
  const started = performance.now();
  const result = await stage.run(options).catch((error: unknown) => ({
    passed: 0,
    failed: 1,
    skips: [],
    output: `${stage.name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  }));
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const counts = `${String(result.passed)} passed, ${String(result.failed)} failed, ${String(result.skips.length)} skipped`;
  process.stdout.write(`  ${counts} in ${seconds} s\n`);
  if (result.output !== '') process.stdout.write(`${result.output}\n`);
  passed += result.passed;
  failed += result.failed;
  if (result.failed > 0) failedStages.push(stage.name);
  skips.push(...result.skips);
}

if (failedStages.length > 0)
  process.stdout.write(`failed stages: ${failedStages.join(', ')}
`);
for (const reason of skips) process.stdout.write(`skip ${reason}\n`);
process.exitCode = failed > 0 ? 1 : 0;
process.stdout.write(`${String(passed)} passed, ${String(failed)} failed, ${String(skips.length)} skipped\n`);
