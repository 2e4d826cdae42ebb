import { Command } from 'commander';
import type { NativeEngine, NativeModel } from '../../../native/host/index.js';
import { useModel, useSession, withActivations, withEngine, type EngineOptions } from '../engine.js';
import { integer } from '../options.js';
import { printJson, printLine, table } from '../output.js';
import { withBar } from './bar.js';
import { machineFacts, modelFacts, parts, percent, shown, spreadFields, threadsText } from './facts.js';
import { arithmeticPeak } from './limits.js';
import { decodeRound, prefillRound, warmUp, type PrefillRound, type Round } from './rounds.js';
import { spreadOf } from './stats.js';
import { prefillTimeShares, type TimeShares } from './time-shares.js';
import { denseMacs } from './work.js';

interface PrefillOptions extends EngineOptions {
  tokens: number;
  decodeTokens: number;
  rounds: number;
  json?: true;
}

export function prefillBench(): Command {
  const command = new Command('prefill')
    .description('a whole prompt at once: time to the first token, beside the arithmetic peak and the decode rate')
    .argument('<model>', 'model file (GGUF)')
    .option('--tokens <n>', 'tokens of the prompt', integer(1, 1_000_000), 512)
    .option('--decode-tokens <n>', 'tokens of a decode round', integer(2, 100_000), 32)
    .option('--rounds <n>', 'rounds; the median counts', integer(1, 1000), 5)
    .option('--json', 'one JSON object')
    .addHelpText(
      'after',
      `
Each round measures the peak, a prefill and a decode (as bench decode does), in turn. The peak is what the instructions that the dense products are made of
reach on registers alone, with the same threads; peak_share = tokens/s x dense_macs_per_token / peak: it counts all of prefill's time, but only the
multiply-adds of the blocks' dense projections. passes is how often the weights were read for the prompt. Use a machine with nothing else to do.`,
    )
    .action(prefill); // prettier-ignore
  return withActivations(withEngine(command));
}

interface Measured {
  prefill: PrefillRound;
  decode: Round;
  peak: { gmacPerS: number; instructions: string } | null;
}

async function prefill(path: string, options: PrefillOptions): Promise<void> {
  const result = await useModel(path, options, async (model, engine) => {
    const { rounds, timeShares } = await withBar(options.rounds, async (bar) =>
      useSession(model, async (session) => {
        await warmUp(session, model);
        const found: Measured[] = [];
        for (let i = 0; i < options.rounds; i++) {
          bar.step(`round ${i + 1}`);
          const peak = await arithmeticPeak(engine, model.info, engine.threads);
          found.push({
            peak: peak && { gmacPerS: peak.gmacPerS.median, instructions: peak.instructions },
            prefill: await prefillRound(session, model, options.tokens),
            decode: await decodeRound(session, model, options.decodeTokens),
          });
        }
        return { rounds: found, timeShares: await prefillTimeShares(session, model, options.tokens) };
      }),
    );
    return report(model, engine, options, rounds, timeShares);
  });
  if (options.json) return printJson(result.json);
  await printLine(table(result.lines));
}

function report(
  model: NativeModel,
  engine: NativeEngine,
  options: PrefillOptions,
  rounds: readonly Measured[],
  timeShares: TimeShares,
) {
  const macs = denseMacs(model.info);
  const spread = (of: (round: Measured) => number) => spreadOf(rounds.map(of));
  const gmacPerS = ({ prefill }: Measured) => (prefill.tokensPerSecond * macs) / 1e9;
  const peaks = rounds.flatMap((round) => (round.peak === null ? [] : [{ ...round, peak: round.peak }]));
  const hasPeak = peaks.length > 0;
  const peak = hasPeak ? spreadOf(peaks.map((round) => round.peak.gmacPerS)) : null;
  const peakShare = hasPeak ? spreadOf(peaks.map((round) => gmacPerS(round) / round.peak.gmacPerS)) : null;
  const firstToken = spread(({ prefill }) => prefill.firstTokenMs);
  const rate = spread(({ prefill }) => prefill.tokensPerSecond);
  const decode = spread((round) => round.decode.tokensPerSecond);
  const ratio = spread((round) => round.prefill.tokensPerSecond / round.decode.tokensPerSecond);
  const bytes = spread(({ prefill }) => prefill.bytesPerToken).median;
  const dense = spread(({ prefill }) => prefill.bytesByClass.dense).median;
  const json = {
    bench: 'prefill',
    prompt_tokens: options.tokens,
    ...spreadFields('time_to_first_token_ms', firstToken),
    ...spreadFields('tokens_per_s', rate),
    dense_macs_per_token: macs,
    ...spreadFields('gmac_per_s', spread(gmacPerS)),
    ...spreadFields('peak_gmac_per_s', peak),
    peak_instructions: peaks[0]?.peak.instructions ?? null,
    ...spreadFields('peak_share', peakShare),
    decode_tokens: options.decodeTokens,
    ...spreadFields('decode_tokens_per_s', decode),
    ...spreadFields('decode_ratio', ratio),
    time_shares: timeShares,
    bytes_per_token: bytes,
    passes: (dense * options.tokens) / model.info.denseBytes,
    rounds: options.rounds,
    ...modelFacts(engine, model.info),
    ...machineFacts(),
  };
  const lines = [
    ['first token', `after ${shown(firstToken, 1)} ms, ${options.tokens} tokens of prompt`],
    ['prefill', `${shown(rate, 1)} tokens/s`],
    ['dense products', `${shown(spread(gmacPerS), 1)} GMAC/s`],
    ['arithmetic peak', peak === null ? `unknown for ${engine.isa}` : `${shown(peak, 1)} GMAC/s of ${json.peak_instructions ?? ''}`],
    ...(peakShare === null ? [] : [['share', `${percent(peakShare.median)} of the peak`]]),
    ['decode', `${shown(decode, 2)} tokens/s; prefill is ${shown(ratio, 2)} times as fast`],
    ['time', parts(timeShares)],
    ['weights read', `${json.passes.toFixed(0)} times for the prompt`],
    ['engine', `${engine.isa}, ${threadsText(engine.threads)}, ${json.weights} weights, ${engine.activations} activations, load average ${json.load_average.toFixed(2)}`],
  ]; // prettier-ignore
  return { json, lines };
}
