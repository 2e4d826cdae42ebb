import { Command, Option } from 'commander';
import { exportCheckpoint } from '../../export/export.js';
import { addon } from '../../native/host/index.js';
import { SpikedError } from '../protocol/errors.js';
import type { LayoutPlan, Weights } from '../../export/symboliclight/storage-plan.js';
import { layoutOption, weightsOption, printResult } from './export.js';
import { seed } from './options.js';
import { remark } from './output.js';
import { progressBar } from './progress.js';
import { finishOnInterrupt } from './signals.js';
import { synthCheckpoint } from './synth/checkpoint.js';
import { synthConfigNames, type SynthConfigName } from './synth/configs.js';
import { measureActivity, type Activity } from './synth/activity.js';

interface SynthOptions {
  config: SynthConfigName;
  output: string;
  weights: Weights;
  layout: LayoutPlan;
  seed: bigint;
  tokenizer?: string;
  json?: true;
}

export function synthCommand(): Command {
  return new Command('synth')
    .description(
      'write a model of random weights in which 5 to 15 % of the neurons fire: to measure and to test with',
    )
    .addOption(
      new Option('--config <name>', 'shape of the model').choices(synthConfigNames).makeOptionMandatory(),
    )
    .requiredOption('-o, --output <file>', 'model file to write')
    .addOption(weightsOption().makeOptionMandatory(false).default('int8'))
    .addOption(layoutOption())
    .addOption(new Option('--seed <n>', 'the same seed gives the same file').argParser(seed).default(1n, '1'))
    .option('--tokenizer <file>', 'SentencePiece .model to carry inside')
    .option('--json', 'one JSON object about the file written')
    .addHelpText(
      'after',
      '\nThe finished model is run once; exit status 3 when its activity lies outside 5 to 15 %.',
    )
    .action(synth);
}

async function synth(options: SynthOptions): Promise<void> {
  const bar = progressBar();
  const result = await finishOnInterrupt(() =>
    exportCheckpoint(synthCheckpoint(options.config, options.seed), {
      out: options.output,
      weights: options.weights,
      layoutPlan: options.layout,
      packer: addon(),
      tokenizer: options.tokenizer,
      name: `synth-${options.config}-${options.weights}-${options.seed}`,
      onProgress: bar.show,
    }),
  ).finally(bar.end);
  await printResult(result, options.json === true);
  const activity = await measureActivity(options.output);
  remark(
    `active: encoder ${percent(activity.encoder)}, mixer ${range(activity.mixer)}, ffn ${range(activity.ffn)}`,
  );
  requireActivity(options.output, activity);
}

function requireActivity(file: string, { encoder, mixer, ffn }: Activity): void {
  const outside = [encoder, ...mixer, ...ffn].find((share) => !(share >= 0.05 && share <= 0.15));
  if (outside !== undefined)
    throw new SpikedError(
      'ERR_CHECK_FAILED',
      `${file}: activity: expected 5 to 15 % in every layer, found ${percent(outside)}`,
    );
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function range(shares: number[]): string {
  return `${percent(Math.min(...shares))} to ${percent(Math.max(...shares))}`;
}
