/**
 * bitnet.cpp beside this engine on one ternary model file, in one run: each turn in a fresh process, A B A B, and the ratios.
 *
 *     node dist/bench/bitnet.js MODEL.gguf --rival PATH/llama-batched-bench
 *
 * The rival is bitnet.cpp's own llama-batched-bench, which the repository neither holds nor builds. Both map the same file, run as many
 * threads, warm up with 16 ids, take a prompt of the same length at once and then as many tokens one by one; neither works for the other's
 * turn. Use a machine with nothing else to do. docs/bench/README.md tells what the columns are.
 */
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { withBar } from '../client/ctl/bench/bar.js';
import { machineFacts } from '../client/ctl/bench/facts.js';
import { checkThreads, roomyBytes } from '../client/ctl/bench/limits.js';
import { interleave } from '../client/ctl/bench/stats.js';
import { integer, repeated } from '../client/ctl/options.js';
import { printJson, printLine } from '../client/ctl/output.js';
import { addon } from '../native/host/index.js';
import { packageRoot } from '../native/host/package-root.js';
import { oursTurn, settings, type Length, type Rates, type Setting } from './bitnet/ours.js';
import { markdown, row, type Turn } from './bitnet/report.js';
import { rivalArguments, rivalRates } from './bitnet/rival.js';
import { watched, type Memory } from './bitnet/turn.js';
import { bytesPerToken } from './rivals/bytes-per-token.js';
import { runProgram } from './run-program.js';

interface Options extends Omit<Length, 'threads'> {
  rival: string;
  rivalName: string;
  rivalFile?: string;
  rivalOption: string[];
  ours: string[];
  threads: number[];
  rounds: number;
  size?: number;
  out?: string;
  json?: true;
  turn?: string;
}

type Work = (length: Length) => Promise<Rates & Memory>;

const bandwidthPasses = 5;

const program = new Command('bitnet')
  .description('bitnet.cpp beside this engine on one ternary model file, in one run')
  .argument('<model>', 'model file (GGUF, I2_S)')
  .requiredOption('--rival <program>', "bitnet.cpp's llama-batched-bench")
  .option('--rival-name <name>', 'what to call it, such as its commit and compiler', 'bitnet.cpp')
  .option('--rival-file <file>', 'another file of the same shape for the rival')
  .option('--rival-option <word>', 'one more word for its command line, several times', repeated, [])
  .option('--ours <list>', `of ours: ${Object.keys(settings).join(', ')}`, chosen, ['full'])
  .option('--threads <list>', 'numbers of threads, such as 1,2', threadCounts, [Math.min(256, availableParallelism())])
  .option('--prompt-tokens <n>', 'ids of the prompt', integer(1, 100_000), 128)
  .option('--tokens <n>', 'tokens to decode after it', integer(2, 100_000), 64)
  .option('--context <n>', 'positions that each has room for', integer(32, 1_000_000), 512)
  .option('--rounds <n>', 'rounds; the medians count', integer(1, 1000), 5)
  .option('--size <MiB>', 'memory that the plain reads go through (default: 1024, or half of what is free)', integer(1, 2 ** 20))
  .option('--out <file>', 'write the Markdown table to a file')
  .option('--json', 'one JSON object')
  .addOption(new Option('--turn <setting>').hideHelp())
  .action(main); // prettier-ignore

function chosen(text: string): string[] {
  const names = text.split(',');
  const unknown = names.find((name) => settings[name] === undefined);
  if (unknown === undefined) return names;
  throw new InvalidArgumentError(`expected any of ${Object.keys(settings).join(', ')}, found ${unknown}`);
}

function threadCounts(text: string): number[] {
  return text.split(',').map(integer(1, 256));
}

async function main(model: string, options: Options): Promise<void> {
  const setting = settings[options.turn ?? ''];
  if (setting !== undefined) return oneTurn(model, setting, options);
  for (const threads of options.threads) await checkThreads(threads);
  const rivalFile = options.rivalFile ?? model;
  // Both find their file in memory.
  for (const file of new Set([model, rivalFile])) await finished(createReadStream(file).resume());
  const rival = { name: options.rivalName, work: await rivalWork(rivalFile, options) };
  const contenders = [
    rival,
    ...options.ours.map((name) => ({ name: `spiked ${name}`, work: ourWork(model, name) })),
  ];
  const sizeBytes = options.size === undefined ? roomyBytes() : options.size * 2 ** 20;
  const read = (threads: number) => addon().readBandwidth(threads, sizeBytes, bandwidthPasses);
  const columns = options.threads.flatMap((threads) =>
    contenders.map((contender) => ({ ...contender, threads, turns: [] as Turn[] })),
  );
  await withBar(columns.length * options.rounds, async (bar) => {
    for (const { setting: column } of interleave(columns, options.rounds)) {
      bar.step(`${column.name}, ${column.threads} threads`);
      const { promptTokens, tokens, context } = options;
      const before = await read(column.threads);
      const turn = await column.work({ threads: column.threads, promptTokens, tokens, context });
      const after = await read(column.threads);
      column.turns.push({ ...turn, readGbPerS: (before + after) / 2 });
    }
  });
  const rows = columns.map((column) => {
    const beside = columns.find(({ name, threads }) => name === rival.name && threads === column.threads);
    return row(column, beside === undefined || beside === column ? null : beside);
  });
  const table = markdown(rows);
  if (options.out !== undefined) await writeFile(options.out, `${table}\n`);
  if (!options.json) return printLine(table);
  const { promptTokens, tokens, context, rounds } = options;
  await printJson({
    bench: 'bitnet',
    rows,
    prompt_tokens: promptTokens,
    tokens,
    context,
    rounds,
    rival_options: options.rivalOption,
    ...machineFacts(),
  });
}

async function rivalWork(file: string, { rival, rivalOption }: Options): Promise<Work> {
  const weights = await bytesPerToken(file);
  return async (length) => {
    const { output, memory } = await watched(rival, rivalArguments(file, length, rivalOption));
    return { ...rivalRates(output, length), bytesPerToken: weights, ...memory };
  };
}

function ourWork(model: string, setting: string): Work {
  const self = join(packageRoot, 'dist/bench/bitnet.js');
  return async ({ threads, promptTokens, tokens, context }) => {
    const n = String;
    const length = ['--threads', n(threads), '--prompt-tokens', n(promptTokens), '--tokens', n(tokens), '--context', n(context)]; // prettier-ignore
    const args = [self, model, '--rival', 'none', '--turn', setting, ...length];
    const { output, memory } = await watched(process.execPath, args);
    return { ...(JSON.parse(output) as Rates), ...memory };
  };
}

async function oneTurn(model: string, setting: Setting, options: Options): Promise<void> {
  const [threads = 1] = options.threads;
  await printJson(await oursTurn(model, setting, { ...options, threads }));
}

await runProgram(program);
