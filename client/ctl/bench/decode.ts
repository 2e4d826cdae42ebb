import { cpus, freemem, loadavg } from 'node:os';
import { Command } from 'commander';
import { addon } from '../../../native/host/index.js';
import type { NativeModel, NativeSession } from '../../../native/host/index.js';
import { useModel, useSession, withActivations, withThreads } from '../engine.js';
import { integer } from '../options.js';
import { printJson, printLine, table } from '../output.js';
import { greedy } from './greedy.js';

interface DecodeOptions {
  threads: number;
  tokens: number;
  rounds: number;
  json?: true;
}

const promptTokens = 8;
const gib = 2 ** 30;

export function decodeBench(): Command {
  const command = new Command('decode')
    .description('greedy decode, token by token, beside the read bandwidth of the same threads')
    .argument('<model>', 'model file (GGUF)')
    .option('--tokens <n>', 'tokens of one round', integer(2, 100_000), 64)
    .option('--rounds <n>', 'rounds; the median counts', integer(1, 1000), 5)
    .option('--json', 'one JSON object')
    .addHelpText(
      'after',
      `
bytes_per_token is the least that a token has to read: dense weights, head and active columns once each. The bandwidth
is a plain read by the same threads just before and just after; share = tokens/s x bytes_per_token / bandwidth.
Use a machine with nothing else to do.`,
    )
    .action(decode);
  return withActivations(withThreads(command));
}

interface Round {
  tokensPerSecond: number;
  bytesPerToken: number;
}

async function decode(path: string, options: DecodeOptions): Promise<void> {
  const started = performance.now();
  const result = await useModel(path, options, async (model, engine) => {
    const loadMs = performance.now() - started;
    const before = await bandwidth(options.threads);
    const rounds: Round[] = [];
    const activity = await useSession(model, async (session) => {
      for (let i = 0; i < options.rounds; i++) rounds.push(await runRound(session, model, options.tokens));
      const stats = session.stats();
      return {
        mixer: stats.mixerActive / stats.mixerTotal,
        ffn: stats.ffnActive / stats.ffnTotal,
        stateBytes: stats.stateBytes,
      };
    });
    const after = await bandwidth(options.threads);
    const rates = rounds.map((round) => round.tokensPerSecond).sort((a, b) => a - b);
    const [tokensPerSecond, bytesPerToken] = [
      median(rates),
      median(rounds.map((round) => round.bytesPerToken)),
    ];
    const readGbPerSecond = (before + after) / 2;
    return {
      bench: 'decode',
      tokens_per_s: tokensPerSecond,
      tokens_per_s_min: rates[0],
      tokens_per_s_max: rates.at(-1),
      bytes_per_token: bytesPerToken,
      read_bandwidth_gb_s: readGbPerSecond,
      read_bandwidth_gb_s_before: before,
      read_bandwidth_gb_s_after: after,
      share: (tokensPerSecond * bytesPerToken) / (readGbPerSecond * 1e9),
      threads: engine.threads,
      isa: engine.isa,
      activations: engine.activations,
      model: model.info.name,
      weights: model.info.weights,
      data_sha256: model.info.dataSha256,
      rounds: options.rounds,
      tokens: options.tokens,
      active_mixer: activity.mixer,
      active_ffn: activity.ffn,
      load_ms: loadMs,
      state_bytes: activity.stateBytes,
      rss_bytes: process.memoryUsage.rss(),
      ...machine(),
    };
  });
  if (options.json) return printJson(result);
  await printLine(
    table([
      ['decode', `${result.tokens_per_s.toFixed(2)} tokens/s, median of ${result.rounds} rounds (${result.tokens_per_s_min?.toFixed(2)} to ${result.tokens_per_s_max?.toFixed(2)})`],
      ['read per token', `${(result.bytes_per_token / 1e6).toFixed(2)} MB`],
      ['read bandwidth', `${before(result)} GB/s before, ${result.read_bandwidth_gb_s_after.toFixed(1)} after`],
      ['share', `${(100 * result.share).toFixed(1)} % of the bandwidth`],
      ['active', `mixer ${(100 * result.active_mixer).toFixed(1)} %, ffn ${(100 * result.active_ffn).toFixed(1)} %`],
      ['load', `${result.load_ms.toFixed(0)} ms`],
      ['engine', `${result.isa}, ${result.threads} threads, ${result.weights} weights, ${result.activations} activations, load average ${result.load_average.toFixed(2)}`],
    ]),
  ); // prettier-ignore
}

function before(result: { read_bandwidth_gb_s_before: number }): string {
  return result.read_bandwidth_gb_s_before.toFixed(1);
}

/** One round from position 0: a short prompt, then `tokens` greedy steps, timed from the first token to the last. */
async function runRound(session: NativeSession, model: NativeModel, tokens: number): Promise<Round> {
  session.reset();
  const prompt = Int32Array.from(
    { length: promptTokens },
    (_, i) => (i * 7919 + 1) % model.info.validVocabSize,
  );
  let step = await session.step(prompt, greedy);
  const first = step.tNs;
  let bytes = 0;
  for (let i = 0; i < tokens; i++) {
    step = await session.step(Int32Array.of(step.id), greedy);
    bytes += session.stats().bytesTouched;
  }
  return { tokensPerSecond: (tokens * 1e9) / Number(step.tNs - first), bytesPerToken: bytes / tokens };
}

/** GB/s over 1 GiB, less where the machine has not that much to spare. */
function bandwidth(threads: number): Promise<number> {
  const sizeBytes = Math.min(gib, 2 ** Math.floor(Math.log2(Math.max(freemem() / 2, 2 ** 26))));
  return addon().readBandwidth(threads, sizeBytes, 5);
}

function machine() {
  const { version, commit, compiler } = addon().build();
  return {
    version,
    commit,
    compiler,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    load_average: loadavg()[0] ?? 0,
  };
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const high = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? high : (high + (sorted[middle - 1] ?? NaN)) / 2;
}
