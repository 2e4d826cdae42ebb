/**
 * Other engines beside this one, in one run: each contender in a fresh process, A B A B, the median of the rounds and the ratios.
 *
 *     node dist/bench/rivals.js MODEL.gguf --llama FILE.gguf
 *     node dist/bench/rivals.js MODEL.gguf --rival 'bitnet.cpp=./bench.sh {threads} {tokens}'
 *
 * --llama runs llama.cpp through the npm package node-llama-cpp, which the repository does not depend on: install it with
 * `npm install --no-save --ignore-scripts node-llama-cpp`. docs/bench/README.md says how to get a file of the same shape.
 * --rival is any shell command; the last number that it prints is its tokens a second. A name that ends in `:prefill` is held against
 * our prefill, any other against our decode. Use a machine with nothing else to do.
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { integer } from '../client/ctl/options.js';
import { printJson, printLine, table } from '../client/ctl/output.js';
import { interleave, spreadOf } from '../client/ctl/bench/stats.js';
import { SpikedError } from '../client/protocol/errors.js';
import { packageRoot } from '../native/host/package-root.js';
import { bytesPerToken } from './rivals/bytes-per-token.js';
import { runLlama } from './rivals/llama.js';
import { runProgram } from './run-program.js';

type Kind = 'decode' | 'prefill';

interface Options {
  llama?: string;
  rival: Rival[];
  threads: number;
  activations: string;
  tokens: number;
  promptTokens: number;
  rounds: number;
  json?: true;
  llamaWorker?: true;
}

interface Rival {
  name: string;
  kind: Kind;
  command: string;
}

/** What one process of a contender found; a kind that it does not have is absent. */
interface Found {
  decode?: number;
  prefill?: number;
  /** Only ours. */
  readGbPerS?: number;
  bytesPerToken?: number;
}

interface Contender {
  name: string;
  /** Least bytes that a token has to read; null where unknown. */
  bytesPerToken: number | null;
  run: () => Promise<Found>;
}

const program = new Command('rivals')
  .description('other engines beside this one, in one run')
  .argument('<model>', 'our model file (GGUF)')
  .option('--llama <file>', 'GGUF file for llama.cpp, through node-llama-cpp')
  .option('--rival <name=command>', 'a shell command whose last printed number is tokens a second; {threads}, {tokens}, {prompt_tokens} are filled in', rivals, [])
  .option('--threads <n>', 'threads of each', integer(1, 256), Math.min(256, availableParallelism()))
  .addOption(new Option('--activations <precision>', 'of ours').choices(['f32', 'i16', 'i8']).default('f32'))
  .option('--tokens <n>', 'tokens to decode', integer(2, 100_000), 64)
  .option('--prompt-tokens <n>', 'tokens of the prompt', integer(1, 100_000), 512)
  .option('--rounds <n>', 'rounds; the median counts', integer(1, 1000), 5)
  .option('--json', 'one JSON object a line')
  .addOption(new Option('--llama-worker').hideHelp())
  .action(main); // prettier-ignore

/** Parser for commander: `NAME=COMMAND`, several times. */
function rivals(text: string, earlier: Rival[]): Rival[] {
  const [, name, prefill, command] = /^([^=]+?)(:prefill)?=(.+)$/s.exec(text) ?? [];
  if (name === undefined || command === undefined)
    throw new InvalidArgumentError(
      "expected NAME=COMMAND or NAME:prefill=COMMAND, such as 'other=./bench {threads}'",
    );
  return [...earlier, { name, kind: prefill === undefined ? 'decode' : 'prefill', command }];
}

async function main(model: string, options: Options): Promise<void> {
  if (options.llamaWorker) return printJson(await runLlama(model, options));
  const ours = spiked(model, options);
  const others = [
    ...(options.llama === undefined ? [] : [await llama(options.llama, options)]),
    ...options.rival.map((rival) => byCommand(rival, options)),
  ];
  if (others.length === 0)
    throw new SpikedError('ERR_USAGE', 'expected --llama FILE or --rival NAME=COMMAND');
  // Ours last: a command that cannot run is told at once.
  const all = [...others, ours];
  const found = new Map(all.map((contender) => [contender, [] as Found[]]));
  for (const { setting: contender } of interleave(all, options.rounds))
    found.get(contender)?.push(await contender.run());
  const rows = others.flatMap((other) =>
    (['decode', 'prefill'] as const).flatMap((kind) => {
      const row = compared(kind, other, found.get(ours) ?? [], found.get(other) ?? []);
      return row === null ? [] : [row];
    }),
  );
  if (!options.json) return printLine(shown(rows));
  for (const row of rows)
    await printJson({
      bench: 'rivals',
      ...row,
      threads: options.threads,
      activations: options.activations,
      rounds: options.rounds,
    });
}

function spiked(model: string, { threads, activations, tokens, promptTokens }: Options): Contender {
  const spikectl = join(packageRoot, 'dist/client/ctl/main.js');
  const bench = async (command: string, ...more: string[]) => {
    const common = ['--rounds', '1', '--threads', String(threads), '--activations', activations, '--json'];
    const args = [spikectl, 'bench', command, model, ...common, ...more];
    return JSON.parse(await output(process.execPath, args)) as Record<string, number> & {
      bytes_by_class: { kv: number };
    };
  };
  return {
    name: 'spiked',
    bytesPerToken: null, // told with each run
    run: async () => {
      const decode = await bench('decode', '--tokens', String(tokens));
      const prefill = await bench('prefill', '--tokens', String(promptTokens), '--decode-tokens', '2');
      return {
        decode: figure(decode, 'tokens_per_s'),
        prefill: figure(prefill, 'tokens_per_s'),
        readGbPerS: figure(decode, 'read_bandwidth_gb_s'),
        // Weights only, as counted of a rival's file.
        bytesPerToken: figure(decode, 'bytes_per_token') - decode.bytes_by_class.kv,
      };
    },
  };
}

async function llama(file: string, { threads, tokens, promptTokens }: Options): Promise<Contender> {
  const self = join(packageRoot, 'dist/bench/rivals.js');
  const common = [
    '--threads',
    String(threads),
    '--tokens',
    String(tokens),
    '--prompt-tokens',
    String(promptTokens),
  ];
  return {
    name: 'llama.cpp',
    bytesPerToken: await bytesPerToken(file),
    run: async () => {
      const found = JSON.parse(
        await output(process.execPath, [self, file, '--llama-worker', ...common]),
      ) as Record<string, number>;
      return { decode: figure(found, 'decode'), prefill: figure(found, 'prefill') };
    },
  };
}

function byCommand({ name, kind, command }: Rival, options: Options): Contender {
  const filled = command
    .replaceAll('{threads}', String(options.threads))
    .replaceAll('{tokens}', String(options.tokens))
    .replaceAll('{prompt_tokens}', String(options.promptTokens));
  return {
    name,
    bytesPerToken: null,
    run: async () => {
      const text = await output('sh', ['-c', filled]);
      const rate = Number(text.match(/\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi)?.at(-1) ?? NaN);
      if (!(rate > 0))
        throw new SpikedError(
          'ERR_INVALID_ARGUMENT',
          `${name}: expected tokens a second as the last number, found "${text.trim().slice(-80)}"`,
        );
      return { [kind]: rate };
    },
  };
}

/** Standard output of a process that has to succeed; its standard error is ours. */
async function output(command: string, args: readonly string[]): Promise<string> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code === 0) return text;
  throw new SpikedError(
    'ERR_INVALID_ARGUMENT',
    `${[command, ...args].join(' ')}: expected exit status 0, found ${code ?? 'a signal'}`,
  );
}

function figure(found: Record<string, number>, key: string): number {
  const value = found[key];
  if (typeof value === 'number' && value > 0) return value;
  throw new SpikedError('ERR_INVALID_ARGUMENT', `${key}: expected a positive number, found ${String(value)}`);
}

/** Null where the rival has no such figure. */
function compared(kind: Kind, rival: Contender, ours: readonly Found[], theirs: readonly Found[]) {
  const rounds = theirs.flatMap((their, i) => {
    const our = ours[i];
    const [ourRate, theirRate] = [our?.[kind], their[kind]];
    return our === undefined || ourRate === undefined || theirRate === undefined
      ? []
      : [{ our, ourRate, theirRate }];
  });
  if (rounds.length === 0) return null;
  const share = (rate: number, bytes: number | null | undefined, { readGbPerS }: Found) =>
    kind === 'prefill' || !bytes || !readGbPerS ? [] : [(rate * bytes) / (readGbPerS * 1e9)];
  const ourShares = rounds.flatMap(({ our, ourRate }) => share(ourRate, our.bytesPerToken, our));
  const theirShares = rounds.flatMap(({ our, theirRate }) => share(theirRate, rival.bytesPerToken, our));
  return {
    kind,
    rival: rival.name,
    ours_tokens_per_s: spreadOf(rounds.map(({ ourRate }) => ourRate)),
    rival_tokens_per_s: spreadOf(rounds.map(({ theirRate }) => theirRate)),
    ratio: spreadOf(rounds.map(({ ourRate, theirRate }) => ourRate / theirRate)),
    ours_share: ourShares.length > 0 ? spreadOf(ourShares) : null,
    rival_share: theirShares.length > 0 ? spreadOf(theirShares) : null,
    ours_bytes_per_token: rounds[0]?.our.bytesPerToken ?? null,
    rival_bytes_per_token: rival.bytesPerToken,
  };
}

function shown(rows: readonly NonNullable<ReturnType<typeof compared>>[]): string {
  const share = (spread: { median: number } | null) =>
    spread === null ? '' : `${(100 * spread.median).toFixed(0)} %`;
  return table([
    ['', 'rival', 'ours, tokens/s', 'share', "rival's", 'share', 'ratio', 'range'],
    ...rows.map((row) => [
      row.kind,
      row.rival,
      row.ours_tokens_per_s.median.toFixed(2),
      share(row.ours_share),
      row.rival_tokens_per_s.median.toFixed(2),
      share(row.rival_share),
      row.ratio.median.toFixed(2),
      `${row.ratio.min.toFixed(2)} to ${row.ratio.max.toFixed(2)}`,
    ]),
  ]);
}

await runProgram(program);
