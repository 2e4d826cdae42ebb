import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { Command, Option } from 'commander';
import { maxDraft, SpikedError, type GenerateParams, type Generation } from '../index.js';
import { reachDaemon } from './daemon/reach.js';
import { exitCode } from './exit.js';
import { decimal, integer } from './options.js';
import { remark, toJson } from './output.js';
import { samplingParams, withSampling, type SamplingOptions } from './sampling.js';
import { streamGeneration } from './stream-generation.js';

interface RunOptions extends SamplingOptions {
  model?: string;
  socket?: string;
  ignoreEos?: true;
  logprobs?: true;
  head: 'full' | 'scan' | 'gate' | 'certified' | 'topk';
  headActivations: 'f32' | 'i16' | 'i8';
  headScope: 'projection' | 'head';
  headK: number;
  headThreshold: number;
  headCap?: number;
  headTrace?: string;
  drafts?: true | number;
  json?: true;
}

export function runCommand(): Command {
  const command = new Command('run')
    .description('continue a prompt and stream the text')
    .argument('<prompt>', 'text to continue')
    .option(
      '--model <model>',
      "model file, or a name the daemon knows (default: the daemon's, or the bundled model)",
    )
    .option(
      '--socket <path>',
      'socket of the daemon to use (default: the usual place, else a private daemon)',
    );
  return withSampling(command)
    .option('--ignore-eos', 'go on after the end-of-sequence token')
    .option('--logprobs', 'with --json: the log-probability of every token')
    .addOption(
      new Option('--head <mode>', 'how the next token is found: certified never differs from full')
        .choices(['full', 'scan', 'gate', 'certified', 'topk'])
        .default('full'),
    )
    .addOption(
      new Option('--head-activations <type>', 'scan: precision of the pass')
        .choices(['f32', 'i16', 'i8'])
        .default('i8'),
    )
    .addOption(
      new Option('--head-scope <scope>', 'gate: what the first pass does with i8 activations')
        .choices(['projection', 'head'])
        .default('projection'),
    )
    .option('--head-k <n>', 'gate: rows computed again; topk: of each block of 4096', integer(1, 4096), 32)
    .option('--head-threshold <gap>', 'gate: verify below this gap', decimal(0, 1e30), 0.5)
    .option('--head-cap <n>', 'certified: most rows before all are computed', integer(1, 2 ** 24))
    .option(
      '--head-trace <file>',
      'write what the head did at each step to this file, one JSON object a line',
    )
    .option(
      '--drafts [n]',
      'guess up to n (7) next tokens from what the text says elsewhere, verify them together: the same text; needs --temperature 0',
      integer(1, maxDraft),
    )
    .option('--json', 'one JSON object a line: every token, then the summary')
    .addHelpText(
      'after',
      '\nCtrl-C cancels the generation in the daemon and prints the summary; a second one leaves at once.',
    )
    .action(run);
}

async function run(prompt: string, options: RunOptions): Promise<void> {
  const daemon = await reachDaemon(options);
  try {
    const trace = options.headTrace === undefined ? undefined : await openTrace(options.headTrace);
    const generation = daemon.client.generate(toParams(prompt, daemon.model, options));
    if (trace) generation.onHead = (event) => void trace.write(`${toJson(event)}\n`);
    const interrupted = cancelOnInterrupt(generation);
    const result = await streamGeneration(generation, options.json === true);
    if (trace) await closeTrace(trace);
    // At the end, when a file that takes seconds to read has been read.
    for (const warning of await daemon.warnings()) remark(`warning: ${warning}`);
    if (interrupted()) process.exitCode = exitCode.interrupted;
    else if (result.stop_reason === 'cancelled')
      throw new SpikedError('ERR_SHUTTING_DOWN', 'the daemon cancelled the generation before its end');
  } finally {
    await daemon.close();
  }
}

function toParams(prompt: string, model: string | undefined, options: RunOptions): GenerateParams {
  return {
    prompt,
    ...samplingParams(options),
    ignore_eos: options.ignoreEos === true,
    logprobs: options.logprobs === true,
    head: {
      mode: options.head,
      activations: options.headActivations,
      scope: options.headScope,
      k: options.headK,
      threshold: options.headThreshold,
      trace: options.headTrace !== undefined,
      ...(options.headCap === undefined ? {} : { cap: options.headCap }),
    },
    ...(options.drafts === undefined ? {} : { drafts: draftsOf(options.drafts) }),
    ...(model === undefined ? {} : { model }),
    ...(options.seed === undefined ? {} : { seed: options.seed }),
  };
}

function draftsOf(drafts: true | number): GenerateParams['drafts'] {
  return drafts === true || { max_draft: drafts };
}

/** Opened before the generation, so that a path that cannot be written costs no tokens. */
async function openTrace(path: string): Promise<WriteStream> {
  const file = createWriteStream(path);
  await once(file, 'open').catch((error: unknown) => {
    throw new SpikedError('ERR_FILE_IO', `${path}: cannot be written: ${(error as Error).message}`);
  });
  return file;
}

async function closeTrace(file: WriteStream): Promise<void> {
  file.end();
  await finished(file);
}

/** First Ctrl-C: ask the daemon to stop, so that the summary still comes. Second: leave. */
function cancelOnInterrupt(generation: Generation): () => boolean {
  let interrupted = false;
  process.on('SIGINT', () => {
    if (interrupted) process.exit(exitCode.interrupted);
    interrupted = true;
    void generation.cancel();
  });
  return () => interrupted;
}
