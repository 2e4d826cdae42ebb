import { Command, Option } from 'commander';
import { exportModel, type ExportResult } from '../../export/export.js';
import {
  layoutPlans,
  weightFormats,
  type LayoutPlan,
  type Weights,
} from '../../export/symboliclight/storage-plan.js';
import { addon } from '../../native/host/index.js';
import { printJson, printLine } from './output.js';
import { progressBar } from './progress.js';
import { finishOnInterrupt } from './signals.js';

interface ExportOptions {
  output: string;
  weights: Weights;
  layout: LayoutPlan;
  tokenizer?: string;
  config?: string;
  name?: string;
  json?: true;
}

export function exportCommand(): Command {
  return new Command('export')
    .description('turn a checkpoint (.pt, .safetensors, or another model file) into a model file')
    .argument('<checkpoint>', 'file written by torch.save, safetensors, or a model file (GGUF) of ours')
    .requiredOption('-o, --output <file>', 'model file to write; replaced only when the new one is complete')
    .addOption(weightsOption())
    .addOption(layoutOption())
    .option('--tokenizer <file>', "SentencePiece .model to carry inside (default: a model file's own)")
    .option(
      '--config <file>',
      'JSON configuration (default: the one in the checkpoint, or config.json beside it)',
    )
    .option(
      '--name <text>',
      "name shown to people (default: a model file's own, else the stem of the file to write)",
    )
    .option('--json', 'one JSON object about the file written')
    .action(run);
}

export function weightsOption(): Option {
  return new Option('--weights <type>', 'storage of the Linear weights')
    .choices(weightFormats)
    .makeOptionMandatory();
}

export function layoutOption(): Option {
  return new Option('--layout <plan>', 'of the Linear weights; row and column, f32 only, are for comparing')
    .choices(layoutPlans)
    .default('mixed');
}

async function run(checkpoint: string, options: ExportOptions): Promise<void> {
  const bar = progressBar();
  const result = await finishOnInterrupt(() =>
    exportModel({
      checkpoint,
      out: options.output,
      weights: options.weights,
      layoutPlan: options.layout,
      packer: addon(),
      tokenizer: options.tokenizer,
      configPath: options.config,
      name: options.name,
      onProgress: bar.show,
    }),
  ).finally(bar.end);
  await printResult(result, options.json === true);
}

export function printResult(result: ExportResult, json: boolean): Promise<void> {
  if (json)
    return printJson({
      file: result.path,
      form: result.form,
      size_bytes: result.sizeBytes,
      n_tensors: result.nTensors,
      data_sha256: result.dataSha256,
    });
  return printLine(
    `${result.path}: ${result.form}, ${result.nTensors} tensors, ${result.sizeBytes} bytes, data SHA-256 ${result.dataSha256}`,
  );
}
