import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { Command, Option } from 'commander';
import { SpikedError, type GenerateParams, type GenerateResult, type Generation } from '../index.js';
import { reachDaemon } from './daemon/reach.js';
import { exitCode } from './exit.js';
import { decimal, integer, repeated, seed } from './options.js';
import { print, printJson, remark, toJson } from './output.js';

interface RunOptions {
  model?: string;
  socket?: string;
  maxTokens: number;
  temperature: number;
  topK: number;
  topP: number;
  repetitionPenalty: number;
  adaptiveTemperature?: true;
  seed?: bigint;
  stop?: string[];
  ignoreEos?: true;
  logprobs?: true;
  head: 'full' | 'scan' | 'gate' | 'certified';
  headActivations: 'f32' | 'i16' | 'i8';
  headScope: 'projection' | 'head';
  headK: number;
  headThreshold: number;
  headCap?: number;
  headTrace?: string;
  json?: true;
}

export function runCommand(): Command {
  return new Command('run')
    .description('continue a prompt and stream the text')
    .argument('<prompt>', 'text to continue')
    .option(
      '--model <model>',
      "model file, or a name the daemon knows (default: the daemon's, or the bundled model)",
    )
    .option(
      '--socket <path>',
      'socket of the daemon to use (default: the usual place, else a private daemon)',
    )
    .option('--max-tokens <n>', 'most tokens to generate', integer(1, 1_000_000), 128)
    .option('--temperature <t>', '0 is greedy', decimal(0, 100), 0.8)
    .option('--top-k <n>', '0 is off', integer(0, 2 ** 31 - 1), 50)
    .option('--top-p <p>', '1 is off', decimal(0, 1), 0.9)
    .option('--repetition-penalty <r>', '1 is off', decimal(0.01, 100), 1)
    .option('--adaptive-temperature', 'lower the temperature where the model is sure')
    .option('--seed <n>', 'start of the random numbers (default: random, and reported)', seed)
    .option('--stop <text>', 'end before this text; may be given several times', repeated)
    .option('--ignore-eos', 'go on after the end-of-sequence token')
    .option('--logprobs', 'with --json: the log-probability of every token')
    .addOption(
      new Option('--head <mode>', 'how the next token is found: certified never differs from full')
        .choices(['full', 'scan', 'gate', 'certified'])
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
    .option('--head-k <n>', 'gate: rows computed again', integer(1, 4096), 32)
    .option('--head-threshold <gap>', 'gate: verify below this gap', decimal(0, 1e30), 0.5)
    .option('--head-cap <n>', 'certified: most rows before all are computed', integer(1, 2 ** 24))
    .option(
      '--head-trace <file>',
      'write what the head did at each step to this file, one JSON object a line',
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
    const result = await stream(generation, options.json === true);
    if (trace) await closeTrace(trace);
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
    max_tokens: options.maxTokens,
    temperature: options.temperature,
    top_k: options.topK,
    top_p: options.topP,
    repetition_penalty: options.repetitionPenalty,
    adaptive_temperature: options.adaptiveTemperature === true,
    ignore_eos: options.ignoreEos === true,
    logprobs: options.logprobs === true,
    stop: options.stop ?? [],
    head: {
      mode: options.head,
      activations: options.headActivations,
      scope: options.headScope,
      k: options.headK,
      threshold: options.headThreshold,
      trace: options.headTrace !== undefined,
      ...(options.headCap === undefined ? {} : { cap: options.headCap }),
    },
    ...(model === undefined ? {} : { model }),
    ...(options.seed === undefined ? {} : { seed: options.seed }),
  };
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

async function stream(generation: Generation, json: boolean): Promise<GenerateResult> {
  let text = '';
  for await (const event of generation) {
    text += event.text;
    if (json) await printJson({ event: 'token', ...event });
    else await print(event.text);
  }
  const result = await generation.result;
  if (json) await printJson({ event: 'summary', ...result });
  else {
    // Text held back for a stop string or an unfinished character comes with the summary only.
    await print(result.text.startsWith(text) ? result.text.slice(text.length) : '');
    if (!result.text.endsWith('\n')) await print('\n');
    remark(summarise(result));
  }
  return result;
}

/** Decode speed. The first token comes out of the prefill, so the decode time covers the others; 0 when there are none. */
export function tokensPerSecond(result: GenerateResult): number {
  const seconds = result.timings.decode_ns / 1e9;
  return seconds > 0 && result.generated_tokens > 1 ? (result.generated_tokens - 1) / seconds : 0;
}

function summariseHead({ head }: GenerateResult): string[] {
  const per = (n: number): string => (head.steps > 0 ? (n / head.steps).toFixed(1) : '0');
  if (head.mode === 'certified')
    return [
      `head: ${head.proved} of ${head.steps} proved, ${per(head.rows)} rows a step, ${head.fell_back} fell back`,
    ];
  if (head.mode === 'gate') return [`head: ${head.triggered} of ${head.steps} steps verified`];
  return head.mode === 'scan' ? ['head: unverified scan'] : [];
}

function summarise(result: GenerateResult): string {
  const share = (x: number) => `${(100 * x).toFixed(1)} %`;
  const stop = result.stop === undefined ? result.stop_reason : `stop ${JSON.stringify(result.stop)}`;
  return [
    `${result.generated_tokens} tokens at ${tokensPerSecond(result).toFixed(1)} tokens/s`,
    `prompt of ${result.prompt_tokens} in ${(result.timings.prefill_ns / 1e6).toFixed(1)} ms`,
    `active: mixer ${share(result.activity.mixer)}, ffn ${share(result.activity.ffn)}`,
    ...summariseHead(result),
    `ended by ${stop}, seed ${result.seed}`,
  ].join('; ');
}
