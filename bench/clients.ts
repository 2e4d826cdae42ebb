/**
 * Tokens a second that several clients of one daemon get together: each on a connection of its own, each with another prompt.
 *
 *     node dist/bench/clients.js MODEL.gguf --threads 4 --clients 1,2,4,8
 *
 * Counted are the tokens of the time in which all of them decode, by the events' own clock. Every client must get the same ids
 * whoever else is there. Prints a JSON line for each number of clients. Use a machine with nothing else to do.
 */
import { basename } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { connect, type TokenEvent } from '../client/index.js';
import { machineFacts } from '../client/ctl/bench/facts.js';
import { interleave, spreadOf } from '../client/ctl/bench/stats.js';
import { integer } from '../client/ctl/options.js';
import { printJson } from '../client/ctl/output.js';
import { SpikedError } from '../client/protocol/errors.js';
import { startOwnDaemon } from './own-daemon.js';
import { runProgram } from './run-program.js';

interface Options {
  threads: number;
  clients: number[];
  tokens: number;
  prompt: number;
  rounds: number;
}

const program = new Command('clients')
  .description('what several clients of one daemon get together')
  .argument('<model>', 'model file (GGUF)')
  .option('--threads <n>', 'threads of the engine', integer(1, 256), 1)
  .option('--clients <list>', 'how many at a time', counts, [1, 2, 4, 8])
  .option('--tokens <n>', 'tokens of each client', integer(8, 4096), 128)
  .option('--prompt <n>', "tokens of each client's prompt", integer(1, 4096), 16)
  .option('--rounds <n>', 'rounds; the median counts', integer(1, 1000), 5)
  .action(main);

function counts(text: string): number[] {
  const all = text.split(',').map(Number);
  if (all.every((n) => Number.isInteger(n) && n >= 1 && n <= 64)) return all;
  throw new InvalidArgumentError('expected numbers from 1 to 64 such as 1,2,4,8.');
}

async function main(path: string, options: Options): Promise<void> {
  const { threads, tokens, prompt, rounds } = options;
  const most = Math.max(...options.clients);
  const daemon = await startOwnDaemon([
    ...['--model', path, '--threads', String(threads), '--context', String(prompt + tokens)],
    ...['--max-active', String(most)],
  ]);
  try {
    const rates = new Map<number, number[]>(options.clients.map((n) => [n, []]));
    const known: number[][] = [];
    await together(daemon.path, most, options);
    for (const { setting: n } of interleave(options.clients, rounds)) {
      const runs = await together(daemon.path, n, options);
      runs.forEach((run, i) => checkIds(i, run, (known[i] ??= run.map(({ token }) => token))));
      rates.get(n)?.push(rateOf(runs));
    }
    const alone = spreadOf(rates.get(1) ?? []).median;
    for (const [clients, found] of rates) {
      const rate = spreadOf(found);
      const gain = Number.isFinite(alone) ? rate.median / alone : null;
      const settings = { model: basename(path), threads, tokens, prompt, rounds };
      await printJson({
        bench: 'clients',
        clients,
        tokens_per_s: rate,
        gain,
        ...settings,
        ...machineFacts(),
      });
    }
  } finally {
    await daemon.stop();
  }
}

async function together(path: string, n: number, { tokens, prompt }: Options): Promise<TokenEvent[][]> {
  const clients = await Promise.all(Array.from({ length: n }, () => connect({ path })));
  const runs = clients.map(async (client, i) => {
    const ids = Array.from({ length: prompt }, (_, at) => (at * 7919 + i * 31 + 1) % 200);
    const params = { tokens: ids, max_tokens: tokens, temperature: 0, ignore_eos: true };
    const events: TokenEvent[] = [];
    for await (const event of client.generate(params)) events.push(event);
    return events;
  });
  const events = await Promise.all(runs);
  await Promise.all(clients.map((client) => client.close()));
  return events;
}

/** Of all, from the last one's first token to the first one's last. */
function rateOf(runs: readonly TokenEvent[][]): number {
  const times = runs.map((events) => events.map(({ t_ns }) => t_ns));
  const begin = times.map(([first = 0n]) => first).reduce((a, b) => (a > b ? a : b));
  const end = times.map((all) => all.at(-1) ?? 0n).reduce((a, b) => (a < b ? a : b));
  if (end <= begin) {
    const text = '--tokens: expected so many that all clients decode at the same time, found fewer';
    throw new SpikedError('ERR_USAGE', text);
  }
  const within = times.flat().filter((t) => t > begin && t <= end).length;
  return (within * 1e9) / Number(end - begin);
}

function checkIds(client: number, run: readonly TokenEvent[], expected: readonly number[]): void {
  if (run.map(({ token }) => token).join() === expected.join()) return;
  throw new SpikedError('ERR_INTERNAL', `client ${client}: expected the ids of its first run, found others`);
}

await runProgram(program);
