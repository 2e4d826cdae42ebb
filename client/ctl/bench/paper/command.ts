import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { SingleBar } from 'cli-progress';
import { Command, InvalidArgumentError } from 'commander';
import { integer } from '../../options.js';
import { printJson, printLine } from '../../output.js';
import { cancelOnStop } from '../../signals.js';
import { paperJson, writeReport } from './output.js';
import { runPaper, type PaperRun, type Watcher } from './run.js';
import { tableNames, type TableName } from './settings.js';
import { Variants } from './variants.js';

interface PaperOptions {
  output: string;
  only?: TableName[];
  quick?: true;
  text?: string;
  golden?: string;
  tokenizer?: string;
  config?: string;
  threads: number;
  keepModels?: true;
  json?: true;
}

export function paperBench(): Command {
  return new Command('paper')
    .description('every table of the paper, measured with this machine and model: JSON, report and charts')
    .argument('<model>', 'model file (GGUF), or a checkpoint (.pt, .safetensors)')
    .requiredOption('-o, --output <dir>', 'folder for paper.json, report.md and the charts')
    .option('--only <tables>', `some of ${tableNames.join(',')}`, tables)
    .option('--quick', 'one process a setting and fewer tokens: a test of the command, no measurement')
    .option('--text <file>', 'UTF-8 text to predict (default: some paragraphs of our own choice)')
    .option('--golden <dir>', 'case folder of reference data, for the numerics table')
    .option('--tokenizer <file>', 'SentencePiece .model for a checkpoint without one')
    .option('--config <file>', 'JSON configuration for a checkpoint without one')
    .option('--threads <n>', 'most threads', integer(1, 256), Math.min(256, availableParallelism()))
    .option('--keep-models', 'leave the exported model files in DIR/models')
    .option('--json', 'print paper.json as one line')
    .addHelpText(
      'after',
      `
The formats FP32, INT8 and INT4mix are exported from the model given into DIR/models; from a quantised model file, FP32
holds the dequantised weights. A timed setting runs in three fresh processes, the settings interleaved; medians and
ranges count. Use a machine with nothing else to do: the report says how busy it was.`,
    )
    .action(paper);
}

/** Parser for commander: `precision,threads` as names of tables. */
function tables(text: string): TableName[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !(tableNames as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`expected some of ${tableNames.join(', ')}, found "${unknown}"`);
  return tableNames.filter((name) => names.includes(name));
}

async function paper(model: string, options: PaperOptions): Promise<void> {
  const text =
    options.text === undefined ? undefined : { path: options.text, bytes: await readFile(options.text) };
  const { tokenizer, config } = options;
  const variants = new Variants(model, join(options.output, 'models'), { tokenizer, config });
  const request = {
    tables: options.only ?? tableNames,
    quick: options.quick === true,
    maxThreads: options.threads,
    text,
    golden: options.golden,
  };
  let run: PaperRun;
  try {
    run = await watched((watcher) => runPaper(variants, request, watcher));
  } finally {
    if (!options.keepModels) await variants.remove();
  }
  const names = await writeReport(options.output, run, model);
  if (options.json) return printJson(paperJson(run, model));
  await printLine(names.map((name) => join(options.output, name)).join('\n'));
}

/** Runs the work with a bar on a terminal; a signal to stop ends it with ERR_CANCELLED. */
async function watched<T>(work: (watcher: Watcher) => Promise<T>): Promise<T> {
  const bar = process.stderr.isTTY
    ? new SingleBar({
        stream: process.stderr,
        format: '{bar} {value} of {total} | {what} | {eta_formatted} left',
        hideCursor: true,
        clearOnComplete: true,
      })
    : undefined;
  bar?.start(1, 0, { what: '' });
  const step: Watcher['step'] = (what, done, total) => {
    bar?.setTotal(total);
    bar?.update(done, { what });
  };
  return cancelOnStop('bench paper', (signal) => work({ signal, step })).finally(() => bar?.stop());
}
