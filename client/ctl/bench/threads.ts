import { Command } from 'commander';
import type { ModelInfo } from '../../../native/host/index.js';
import { withActivations, withEngine } from '../engine.js';
import { integer } from '../options.js';
import { printJson, printLine, table } from '../output.js';
import { withBar } from './bar.js';
import { machineFacts, modelFacts, percent, shown, spreadFields } from './facts.js';
import { decodeShare, sweep, sweepSteps, type Sweep, type SweepOptions, type SweepPoint } from './sweep.js';
import { denseMacs } from './work.js';

interface ThreadsOptions extends SweepOptions {
  json?: true;
}

/** Adds the options of a sweep over the numbers of threads. */
export function withSweep(command: Command): Command {
  command
    .option('--tokens <n>', 'tokens of a decode round', integer(2, 100_000), 32)
    .option('--prompt-tokens <n>', 'tokens of a prefill round', integer(1, 1_000_000), 128)
    .option('--rounds <n>', 'rounds; the median counts', integer(1, 1000), 5);
  return withActivations(withEngine(command));
}

export function threadsBench(): Command {
  const command = new Command('threads')
    .description('decode and prefill with 1 to N threads, beside the bandwidth and the peak of each')
    .argument('<model>', 'model file (GGUF)')
    .option('--json', 'one JSON object a line, one line a number of threads')
    .addHelpText(
      'after',
      `
In each round every number of threads up to --threads has its turn: a plain read, a decode, the arithmetic peak, a prefill. decode_share is of that
read bandwidth, prefill_peak_share of that peak (see bench decode and bench prefill). Use a machine with nothing else to do.`,
    )
    .action(threads); // prettier-ignore
  return withSweep(command);
}

async function threads(path: string, options: ThreadsOptions): Promise<void> {
  const nothing = () => Promise.resolve();
  const found = await withBar(sweepSteps(options), (bar) => sweep(path, options, bar, nothing));
  if (options.json) {
    for (const line of sweepLines(found, options)) await printJson(line);
    return;
  }
  await printLine(
    table([
      ['threads', 'decode, tokens/s', 'of the bandwidth', 'GB/s', 'prefill, tokens/s', 'of the peak'],
      ...found.points.map((point) => {
        const share = prefillShare(found.info, point);
        return [
          String(point.engine.threads),
          shown(point.decode, 2),
          percent(decodeShare(point)),
          shown(point.readGbPerS, 1),
          shown(point.prefill, 1),
          share === null ? 'unknown' : percent(share),
        ];
      }),
    ]),
  );
}

/** What the dense products of prefill reach of the peak; null where none is known. */
function prefillShare(info: ModelInfo, { prefill, peakGmacPerS }: SweepPoint): number | null {
  return peakGmacPerS && (prefill.median * denseMacs(info)) / (peakGmacPerS.median * 1e9);
}

/** One JSON object a number of threads. */
export function sweepLines({ info, points }: Sweep, options: SweepOptions) {
  const [alone] = points;
  return points.map((point) => ({
    bench: 'threads',
    ...modelFacts(point.engine, info),
    ...spreadFields('decode_tokens_per_s', point.decode),
    bytes_per_token: point.decodeRound.bytesPerToken,
    ...spreadFields('read_bandwidth_gb_s', point.readGbPerS),
    decode_share: decodeShare(point),
    decode_speedup: point.decode.median / alone.decode.median,
    ...spreadFields('prefill_tokens_per_s', point.prefill),
    dense_macs_per_token: denseMacs(info),
    ...spreadFields('peak_gmac_per_s', point.peakGmacPerS),
    peak_instructions: point.peakInstructions,
    prefill_peak_share: prefillShare(info, point),
    prefill_speedup: point.prefill.median / alone.prefill.median,
    tokens: options.tokens,
    prompt_tokens: options.promptTokens,
    rounds: options.rounds,
    ...machineFacts(),
  }));
}
