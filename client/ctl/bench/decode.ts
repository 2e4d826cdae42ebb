import { Command } from 'commander';
import { useModel, useSession, withActivations, withEngine, type EngineOptions } from '../engine.js';
import { integer } from '../options.js';
import { printJson, printLine, table } from '../output.js';
import { machineFacts, modelFacts, parts, threadsText } from './facts.js';
import { bandwidth } from './limits.js';
import { decodeRound, type Round } from './rounds.js';
import { spreadOf } from './stats.js';
import { decodeTimeShares } from './time-shares.js';

interface DecodeOptions extends EngineOptions {
  tokens: number;
  rounds: number;
  json?: true;
}

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
bytes_per_token is the least that a token has to read: dense weights, head, active columns, keys and values once each. The
bandwidth is a plain read by the same threads just before and just after; share = tokens/s x bytes_per_token / bandwidth.
time_shares come from a round of their own: what one worker did, its waiting for the others as barriers, what lies between engine calls as calls.
Use a machine with nothing else to do.`,
    )
    .action(decode);
  return withActivations(withEngine(command));
}

/** Null where there is nothing that could be active. */
function share(active: number, all: number): number | null {
  return all === 0 ? null : active / all;
}

async function decode(path: string, options: DecodeOptions): Promise<void> {
  const started = performance.now();
  const result = await useModel(path, options, async (model, engine) => {
    const loadMs = performance.now() - started;
    const before = await bandwidth(engine.threads, 5);
    const rounds: Round[] = [];
    const activity = await useSession(model, async (session) => {
      for (let i = 0; i < options.rounds; i++) rounds.push(await decodeRound(session, model, options.tokens));
      const stats = session.stats();
      return {
        mixer: share(stats.mixerActive, stats.mixerTotal),
        ffn: share(stats.ffnActive, stats.ffnTotal),
        stateBytes: stats.stateBytes,
        timeShares: await decodeTimeShares(session, model, options.tokens),
      };
    });
    const after = await bandwidth(engine.threads, 5);
    const rate = spreadOf(rounds.map((round) => round.tokensPerSecond));
    const bytesPerToken = spreadOf(rounds.map((round) => round.bytesPerToken)).median;
    const readGbPerSecond = (before + after) / 2;
    return {
      bench: 'decode',
      tokens_per_s: rate.median,
      tokens_per_s_min: rate.min,
      tokens_per_s_max: rate.max,
      bytes_per_token: bytesPerToken,
      // Every round decodes the same ids.
      bytes_by_class: { ...rounds[0]?.bytesByClass },
      time_shares: activity.timeShares,
      read_bandwidth_gb_s: readGbPerSecond,
      read_bandwidth_gb_s_before: before,
      read_bandwidth_gb_s_after: after,
      share: (rate.median * bytesPerToken) / (readGbPerSecond * 1e9),
      ...modelFacts(engine, model.info),
      rounds: options.rounds,
      tokens: options.tokens,
      active_mixer: activity.mixer,
      active_ffn: activity.ffn,
      load_ms: loadMs,
      state_bytes: activity.stateBytes,
      rss_bytes: process.memoryUsage.rss(),
      ...machineFacts(),
    };
  });
  if (options.json) return printJson(result);
  await printLine(
    table([
      ['decode', `${result.tokens_per_s.toFixed(2)} tokens/s, median of ${result.rounds} rounds (${result.tokens_per_s_min.toFixed(2)} to ${result.tokens_per_s_max.toFixed(2)})`],
      ['read per token', `${(result.bytes_per_token / 1e6).toFixed(2)} MB`],
      ['read bandwidth', `${before(result)} GB/s before, ${result.read_bandwidth_gb_s_after.toFixed(1)} after`],
      ['share', `${(100 * result.share).toFixed(1)} % of the bandwidth`],
      ['bytes', parts(result.bytes_by_class)],
      ['time', parts(result.time_shares)],
      ...(result.active_mixer === null || result.active_ffn === null
        ? []
        : [['active', `mixer ${(100 * result.active_mixer).toFixed(1)} %, ffn ${(100 * result.active_ffn).toFixed(1)} %`]]),
      ['load', `${result.load_ms.toFixed(0)} ms`],
      ['engine', `${result.isa}, ${threadsText(result.threads)}, ${result.weights} weights, ${result.activations} activations, load average ${result.load_average.toFixed(2)}`],
    ]),
  ); // prettier-ignore
}

function before(result: { read_bandwidth_gb_s_before: number }): string {
  return result.read_bandwidth_gb_s_before.toFixed(1);
}
