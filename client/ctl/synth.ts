import { Command, Option } from 'commander';
import { exportCheckpoint, type ExportProgress, type ExportResult } from '../../export/export.js';
import { addon } from '../../native/host/index.js';
import { SpikedError } from '../protocol/errors.js';
import type { LayoutPlan, Weights } from '../../export/symboliclight/storage-plan.js';
import { usage } from './exit.js';
import { layoutOption, weightsOption, printResult } from './export.js';
import { seed } from './options.js';
import { printJson, printLine, remark } from './output.js';
import { progressBar } from './progress.js';
import { finishOnInterrupt } from './signals.js';
import { bitnetConfigNames, type BitnetConfigName } from './synth/bitnet/configs.js';
import { writeBitnet, type BitnetSynthResult } from './synth/bitnet/write.js';
import { synthCheckpoint } from './synth/checkpoint.js';
import { synthConfigNames, type SynthConfigName } from './synth/configs.js';
import { measureActivity, type Activity } from './synth/activity.js';

interface SynthOptions {
  config: SynthConfigName | BitnetConfigName;
  output: string;
  weights: Weights;
  layout: LayoutPlan;
  seed: bigint;
  tokenizer?: string;
  outputHead?: true;
  json?: true;
}

type Show = (progress: ExportProgress) => void;

export function synthCommand(): Command {
  return new Command('synth')
    .description(
      'write a model of random weights, to measure and to test with: a spiking one in which 5 to 15 % of the neurons fire, or a ternary one',
    )
    .addOption(
      new Option('--config <name>', 'shape of the model')
        .choices([...synthConfigNames, ...bitnetConfigNames])
        .makeOptionMandatory(),
    )
    .requiredOption('-o, --output <file>', 'model file to write')
    .addOption(weightsOption().makeOptionMandatory(false).default('int8'))
    .addOption(layoutOption())
    .option(
      '--output-head',
      'bitnet: output weights of their own, as the file that was published first has them',
    )
    .addOption(new Option('--seed <n>', 'the same seed gives the same file').argParser(seed).default(1n, '1'))
    .option('--tokenizer <file>', 'SentencePiece .model to carry inside')
    .option('--json', 'one JSON object about the file written')
    .addHelpText(
      'after',
      `
A spiking model is run once when it is finished; exit status 3 when its activity lies outside 5 to 15 %.
bitnet-2b4t is BitNet b1.58 2B4T tensor for tensor (1.18 GB): I2_S weights, an F16 embedding, a byte-level BPE vocabulary made by rule. --weights,
--layout and --tokenizer are of spiking models.`,
    )
    .action(synth);
}

async function synth(options: SynthOptions, command: Command): Promise<void> {
  const { config } = options;
  if (isBitnet(config)) {
    refuse(command, config, ['weights', 'layout', 'tokenizer']);
    return printBitnet(
      await withProgress((show) => synthBitnet(config, options, show)),
      options.json === true,
    );
  }
  refuse(command, config, ['outputHead']);
  const result = await withProgress((show) => synthSpiking(config, options, show));
  await printResult(result, options.json === true);
  const activity = await measureActivity(options.output);
  remark(
    `active: encoder ${percent(activity.encoder)}, mixer ${range(activity.mixer)}, ffn ${range(activity.ffn)}`,
  );
  requireActivity(options.output, activity);
}

function withProgress<T>(work: (show: Show) => Promise<T>): Promise<T> {
  const bar = progressBar();
  return finishOnInterrupt(() => work(bar.show)).finally(bar.end);
}

function synthSpiking(config: SynthConfigName, options: SynthOptions, show: Show): Promise<ExportResult> {
  return exportCheckpoint(synthCheckpoint(config, options.seed), {
    out: options.output,
    weights: options.weights,
    layoutPlan: options.layout,
    packer: addon(),
    tokenizer: options.tokenizer,
    name: `synth-${config}-${options.weights}-${options.seed}`,
    onProgress: show,
  });
}

function synthBitnet(
  config: BitnetConfigName,
  { output, seed, outputHead }: SynthOptions,
  show: Show,
): Promise<BitnetSynthResult> {
  return writeBitnet({ config, out: output, seed, outputHead: outputHead === true, onProgress: show });
}

function printBitnet(result: BitnetSynthResult, json: boolean): Promise<void> {
  if (json)
    return printJson({
      file: result.path,
      architecture: result.architecture,
      size_bytes: result.sizeBytes,
      n_tensors: result.nTensors,
      data_sha256: result.dataSha256,
    });
  return printLine(
    `${result.path}: ${result.architecture}, ${result.nTensors} tensors, ${result.sizeBytes} bytes, data SHA-256 ${result.dataSha256}`,
  );
}

function isBitnet(config: SynthOptions['config']): config is BitnetConfigName {
  return (bitnetConfigNames as readonly string[]).includes(config);
}

/** Options that were given and that the configuration has no use for. */
function refuse(command: Command, config: string, names: string[]): void {
  const given = command.options.find(
    (option) =>
      names.includes(option.attributeName()) &&
      command.getOptionValueSource(option.attributeName()) === 'cli',
  );
  if (given !== undefined) throw usage(`--config ${config}: has no ${given.long ?? given.flags}`);
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
