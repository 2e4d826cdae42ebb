import { join } from 'node:path';
import { Command } from 'commander';
import { analyze } from '../../../power/report/analyze.js';
import type { Result } from '../../../power/report/result.js';
import { evidence, headline, shortNumber } from '../../../power/report/words.js';
import { usage } from '../exit.js';
import { decimal } from '../options.js';
import { printJson, printLine, table } from '../output.js';
import { analyzeTrace, nanoseconds, type TraceOptions } from './analyze-trace.js';
import { remarkChanges } from './changed-files.js';
import { resultText, writeWhole } from './write-report.js';

interface AnalyzeOptions extends TraceOptions {
  trace?: string;
  tokens?: string;
  json?: true;
}

export function analyzeCommand(): Command {
  return new Command('analyze')
    .description('every figure of an experiment, or of one trace, computed again from the raw files')
    .argument('[dir]', 'folder of an experiment, as `energy run` leaves it')
    .option('--trace <dir>', 'instead of an experiment: the folder of one trace …')
    .option('--tokens <file>', '… and the times of its tokens, CSV with seq,t_ns')
    .option(
      '--from <ns>',
      'begin of the window, as t_ns in the files (default: the first token)',
      nanoseconds,
    ) // prettier-ignore
    .option('--to <ns>', 'end of the window (default: the last token)', nanoseconds)
    .option(
      '--trim <s>',
      'cut off each end, or more where the meter needs it (with --trace; default 2)',
      decimal(0, 86_400),
    ) // prettier-ignore
    .option(
      '--latency <s>',
      'delay of the meter, from `energy calibrate` (with --trace; default 0)',
      decimal(0, 60),
    ) // prettier-ignore
    .option('--json', 'print the result as one line and write nothing')
    .addHelpText(
      'after',
      `
Of an experiment: writes result.json into the folder and prints the verdicts. Needs no meter, no daemon and no model;
the same folder gives the same bytes, wherever it lies. A damaged folder is refused with file and line.
Of a trace (from \`energy record\` or \`energy import\`): prints the figures of the one window.`,
    )
    .action(run);
}

async function run(dir: string | undefined, options: AnalyzeOptions): Promise<void> {
  const { trace, tokens, from, to, trim, latency, json } = options;
  if (trace !== undefined || tokens !== undefined) {
    if (dir !== undefined) throw usage('expected a folder or --trace, found both');
    if (trace === undefined || tokens === undefined) throw usage('expected --trace and --tokens together, found one'); // prettier-ignore
    return analyzeTrace(trace, tokens, { from, to, trim, latency }, json === true);
  }
  const [name] = Object.entries({ from, to, trim, latency }).find(([, value]) => value !== undefined) ?? [];
  if (name !== undefined) throw usage(`--${name}: expected with --trace, found an experiment, whose plan says it`); // prettier-ignore
  if (dir === undefined) throw usage('expected the folder of an experiment, or --trace and --tokens');
  const result = await analyze(dir);
  await remarkChanges(dir, result);
  if (json) return printJson(result);
  const path = await writeWhole(join(dir, 'result.json'), resultText(result));
  await printLine(`${summary(result)}\n${path}`);
}

/** Verdicts and means, for a terminal. */
export function summary({ simulated, verdicts, arms }: Result): string {
  const head = ['arm', 'runs that count', 'tokens/s', 'W', 'J/token', 'net of idle', 'paper’s figure'];
  const rows = arms.map((arm) => [
    arm.arm,
    `${arm.used_runs} of ${arm.runs}`,
    ...[arm.tokens_per_second, arm.mean_watts, arm.j_per_token, arm.net_j_per_token, arm.paper_trimmed_j_per_token].map(shortNumber), // prettier-ignore
  ]);
  return [
    ...(simulated ? ['SIMULATED: no meter measured these figures.'] : []),
    ...verdicts.map((one) => `${headline(one)} ${evidence(one)}`),
    table([head, ...rows], ['left', 'right', 'right', 'right', 'right', 'right', 'right']),
  ].join('\n');
}
