/**
 * What a token costs on its way through the daemon and the client, in one run: the engine alone and the same generation through a
 * daemon of its own, A B A B, medians of the rounds.
 *
 *     node dist/bench/daemon.js MODEL.gguf --tokens 1000
 *
 * Both decode greedily from the same short prompt, with the same number of engine threads, and both rates count from the first token to
 * the last: the engine's by the steps' own times, the daemon's by the clock of the client that gets the events. Prints a JSON line a
 * round and one for all. CPU time is the kernel's, by thread (/proc/PID/task/TID/schedstat). Use a machine with nothing else to do.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { connect, type Client } from '../client/index.js';
import { machineFacts, modelFacts } from '../client/ctl/bench/facts.js';
import { greedy } from '../client/ctl/bench/greedy.js';
import { arbitraryIds } from '../client/ctl/bench/rounds.js';
import { interleave, spreadOf } from '../client/ctl/bench/stats.js';
import { useModel, useSession } from '../client/ctl/engine.js';
import { integer } from '../client/ctl/options.js';
import { printJson } from '../client/ctl/output.js';
import { SpikedError } from '../client/protocol/errors.js';
import { generatedSteps, type NativeModel } from '../native/host/index.js';
import { startOwnDaemon, type OwnDaemon } from './own-daemon.js';
import { runProgram } from './run-program.js';

interface Options {
  threads: number;
  tokens: number;
  rounds: number;
  warmUp: number;
}

type Way = 'engine' | 'daemon';

/** One way's round: a rate, and what a token takes of CPU time, in microseconds. */
interface Round {
  tokensPerSecond: number;
  /** The engine's thread; with more threads than one, its first worker. */
  engineUs: number;
  /** All other threads of the process that the engine is in. */
  otherUs: number;
  /** The client's process. */
  clientUs: number;
  ids: number[];
}

const promptTokens = 8;

const program = new Command('daemon')
  .description('the engine alone and through daemon and client, in one run')
  .argument('<model>', 'model file (GGUF)')
  .option('--threads <n>', 'threads of the engine', integer(1, 256), 1)
  .option('--tokens <n>', 'tokens of one round', integer(2, 4096), 1000)
  .option('--rounds <n>', 'rounds; the median counts', integer(1, 1000), 7)
  .option('--warm-up <n>', 'rounds before them that do not count: weights are read, JavaScript is compiled', integer(1, 1000), 3)
  .action(main); // prettier-ignore

async function main(path: string, options: Options): Promise<void> {
  const { threads, tokens, rounds, warmUp } = options;
  const daemon = await start(path, threads);
  try {
    await useModel(path, options, async (model, engine) => {
      const prompt = Array.from(arbitraryIds(promptTokens, model));
      const take: Record<Way, () => Promise<Round>> = {
        engine: () => alone(model, prompt, tokens),
        daemon: () => through(daemon, prompt, tokens),
      };
      const found: Record<Way, Round[]> = { engine: [], daemon: [] };
      for (const { setting, repetition } of interleave(['engine', 'daemon'] as const, warmUp + rounds)) {
        const round = await take[setting]();
        checkIds(setting, round, found.engine[0] ?? round);
        if (repetition < warmUp) continue;
        found[setting].push(round);
        await printJson({ bench: 'daemon-round', way: setting, ...shown(round) });
      }
      const of = (way: Way, field: Exclude<keyof Round, 'ids'>) =>
        spreadOf(found[way].map((round) => round[field]));
      const ratios = found.daemon.map(
        (round, i) => round.tokensPerSecond / (found.engine[i]?.tokensPerSecond ?? NaN),
      );
      await printJson({
        bench: 'daemon',
        engine_tokens_per_s: of('engine', 'tokensPerSecond'),
        daemon_tokens_per_s: of('daemon', 'tokensPerSecond'),
        ratio: spreadOf(ratios),
        engine_thread_us_alone: of('engine', 'engineUs'),
        engine_thread_us: of('daemon', 'engineUs'),
        daemon_us: of('daemon', 'otherUs'),
        client_us: of('daemon', 'clientUs'),
        ...modelFacts(engine, model.info),
        rounds,
        tokens,
        ...machineFacts(),
      });
    });
  } finally {
    await daemon.stop();
  }
}

function shown({ tokensPerSecond, engineUs, otherUs, clientUs }: Round) {
  return { tokens_per_s: tokensPerSecond, engine_us: engineUs, other_us: otherUs, client_us: clientUs };
}

function checkIds(way: Way, { ids }: Round, expected: Round): void {
  if (ids.join() === expected.ids.join()) return;
  throw new SpikedError('ERR_INTERNAL', `${way}: expected the ids of the first round, found others`);
}

/** The engine without daemon and client: steps that nobody waits for. */
async function alone(model: NativeModel, prompt: number[], tokens: number): Promise<Round> {
  const ids: number[] = [];
  const times: bigint[] = [];
  let before = cpuUs(process.pid);
  await useSession(model, async (session) => {
    let next = Int32Array.from(prompt);
    // JavaScript that is late ends a generate; it goes on where it was.
    while (ids.length < tokens) {
      const limits = { maxTokens: tokens - ids.length, stopIds: new Int32Array() };
      await session.generate(next, greedy, limits, (rows, n) => {
        if (ids.length === 0) before = cpuUs(process.pid);
        for (const step of generatedSteps(rows, n)) {
          ids.push(step.id);
          times.push(step.tNs);
        }
      });
      next = Int32Array.of(ids.at(-1) ?? 0);
    }
  });
  const ns = Number((times.at(-1) ?? 0n) - (times[0] ?? 0n));
  const used = perToken(before, cpuUs(process.pid), tokens);
  return { tokensPerSecond: ((tokens - 1) * 1e9) / ns, ids, ...used, clientUs: 0 };
}

async function through(daemon: Daemon, prompt: number[], tokens: number): Promise<Round> {
  const ids: number[] = [];
  let [first, last] = [0, 0];
  let [before, ownBefore] = [cpuUs(daemon.pid), cpuUs(process.pid)];
  const generation = daemon.client.generate({
    tokens: prompt,
    max_tokens: tokens,
    temperature: 0,
    ignore_eos: true,
  });
  for await (const { token } of generation) {
    last = performance.now();
    if (ids.length === 0) {
      first = last;
      [before, ownBefore] = [cpuUs(daemon.pid), cpuUs(process.pid)];
    }
    ids.push(token);
  }
  const used = perToken(before, cpuUs(daemon.pid), tokens);
  const clientUs = perToken(ownBefore, cpuUs(process.pid), tokens).otherUs;
  await generation.result;
  return { tokensPerSecond: ((tokens - 1) * 1e3) / (last - first), ids, ...used, clientUs };
}

interface CpuUs {
  engine: number;
  other: number;
}

/** CPU time of a process so far, in microseconds: threads that the addon calls spiked-engine, and all the others. */
function cpuUs(pid: number): CpuUs {
  const sum: CpuUs = { engine: 0, other: 0 };
  for (const tid of readdirSync(`/proc/${pid}/task`)) {
    const task = `/proc/${pid}/task/${tid}`;
    const name = readFileSync(`${task}/comm`, 'utf8').trim();
    const ns = Number(readFileSync(`${task}/schedstat`, 'utf8').split(' ')[0]);
    sum[name === 'spiked-engine' ? 'engine' : 'other'] += ns / 1e3;
  }
  return sum;
}

function perToken(before: CpuUs, after: CpuUs, tokens: number): { engineUs: number; otherUs: number } {
  return {
    engineUs: (after.engine - before.engine) / tokens,
    otherUs: (after.other - before.other) / tokens,
  };
}

interface Daemon extends OwnDaemon {
  client: Client;
}

async function start(model: string, threads: number): Promise<Daemon> {
  const context = String(promptTokens + 4096);
  const daemon = await startOwnDaemon([
    ...['--model', model, '--threads', String(threads), '--context', context],
  ]);
  const client = await connect({ path: daemon.path });
  const stop = async (): Promise<void> => {
    await client.close();
    await daemon.stop();
  };
  return { ...daemon, client, stop };
}

await runProgram(program);
