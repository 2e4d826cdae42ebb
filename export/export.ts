import { stat } from 'node:fs/promises';
import { parse } from 'node:path';
import { SpikedError } from '../client/protocol/errors.js';
import { openCheckpoint, type Checkpoint } from './checkpoint.js';
import { GgufWriter } from './gguf-writer.js';
import { OutputFile } from './output-file.js';
import { enginePacker, type Packer } from './packer.js';
import { readConfig, type Config, type Form } from './symboliclight/config.js';
import { checkMask } from './symboliclight/mask.js';
import { modelMetadata, type ModelDescription } from './symboliclight/metadata.js';
import { bytesOf, TensorPacker } from './symboliclight/pack.js';
import {
  requirePlan,
  type LayoutPlan,
  type StoragePlan,
  type Weights,
} from './symboliclight/storage-plan.js';
import { storedTensor } from './symboliclight/stored-tensor.js';
import { matchTensors } from './symboliclight/tensors.js';
import { readTokenizer, type Tokenizer } from './tokenizer.js';

export interface ExportOptions extends WriteOptions {
  /** A `torch.save` archive, a safetensors file or a model file. */
  checkpoint: string;
  /** JSON with the configuration, for a checkpoint that has none. */
  configPath?: string | undefined;
}

export interface WriteOptions {
  /** Replaced only when the new file is complete. */
  out: string;
  weights: Weights;
  /** `mixed` by default; another, to compare with, for f32 only. */
  layoutPlan?: LayoutPlan | undefined;
  /** The engine's quantiser and packer by default. */
  packer?: Packer | undefined;
  /** A SentencePiece `.model` file to carry inside; a model file's own by default. */
  tokenizer?: string | undefined;
  /** Shown to people; a model file's own, else the stem of `out` by default. */
  name?: string | undefined;
  onProgress?: ((progress: ExportProgress) => void) | undefined;
}

export interface ExportProgress {
  tensor: string;
  writtenBytes: number;
  totalBytes: number;
}

export interface ExportResult {
  path: string;
  form: Form;
  sizeBytes: number;
  nTensors: number;
  dataSha256: string;
}

/**
 * Writes a checkpoint as a model file (docs/model-file.md), tensor by tensor in blocks of rows.
 *
 * @throws SpikedError ERR_CHECKPOINT_INVALID, ERR_CHECKPOINT_UNSAFE, ERR_CHECKPOINT_TENSOR for the checkpoint
 * @throws SpikedError ERR_TOKENIZER_INVALID when the tokenizer cannot be read or has more ids than the vocabulary
 * @throws SpikedError ERR_FILE_NOT_FOUND, ERR_FILE_IO; ERR_CANCELLED after SIGINT, SIGTERM or SIGHUP
 * @throws SpikedError ERR_MODEL_INVALID, ERR_MODEL_VERSION, ERR_MODEL_UNSUPPORTED, ERR_MODEL_TENSOR for a model file that does not load
 * @throws SpikedError ERR_INVALID_ARGUMENT when `out` is the checkpoint or the tokenizer itself, or the weights do not have the layout
 */
export async function exportModel(options: ExportOptions): Promise<ExportResult> {
  const { configPath, tokenizer } = options;
  await requireNewFile(options.out, [options.checkpoint, tokenizer, configPath]);
  const checkpoint = await openCheckpoint(options.checkpoint, configPath === undefined ? {} : { configPath });
  try {
    return await exportCheckpoint(checkpoint, options);
  } finally {
    await checkpoint.close();
  }
}

/** The same for a checkpoint that is open already, or that is no file at all. */
export async function exportCheckpoint(checkpoint: Checkpoint, options: WriteOptions): Promise<ExportResult> {
  const plan: StoragePlan = { weights: options.weights, layoutPlan: options.layoutPlan ?? 'mixed' };
  requirePlan(plan);
  await requireNewFile(options.out, [options.tokenizer]);
  const config = readConfig(checkpoint);
  const matched = matchTensors(checkpoint, config);
  const tokenizer = (await fittingTokenizer(options.tokenizer, config)) ?? checkpoint.model?.tokenizer;
  for (const tensor of matched) if (tensor.role === 'mask') await checkMask(checkpoint.path, tensor, config);
  const tensors = matched.flatMap((tensor) => storedTensor(tensor, plan) ?? []);
  const name = options.name ?? checkpoint.model?.name ?? parse(options.out).name;
  return await OutputFile.write(options.out, (file) =>
    writeModel(file, checkpoint, { name, config, plan, tokenizer, tensors }, options),
  );
}

async function writeModel(
  file: OutputFile,
  checkpoint: Checkpoint,
  description: ModelDescription,
  { packer = enginePacker, onProgress }: WriteOptions,
): Promise<ExportResult> {
  const { config, tensors } = description;
  const metadata = modelMetadata(description);
  const table = tensors.flatMap(({ data, scale }) => (scale === undefined ? [data] : [data, scale]));
  const writer = await GgufWriter.begin(file, metadata, table);
  const tensorPacker = new TensorPacker(checkpoint.path, packer);
  for (const stored of tensors) {
    const scales: Uint8Array[] = [];
    await writer.tensor(
      stored.data.name,
      tensorPacker.parts(stored, (scale) => void scales.push(bytesOf(scale))),
    );
    if (stored.scale !== undefined) await writer.tensor(stored.scale.name, scales);
    onProgress?.({
      tensor: stored.data.name,
      writtenBytes: writer.writtenBytes,
      totalBytes: writer.fileSizeBytes,
    });
  }
  const dataSha256 = await writer.finish();
  return {
    path: file.path,
    form: config.form,
    sizeBytes: writer.fileSizeBytes,
    nTensors: table.length,
    dataSha256,
  };
}

async function fittingTokenizer(
  path: string | undefined,
  { vocab_size }: Config,
): Promise<Tokenizer | undefined> {
  if (path === undefined) return undefined;
  const tokenizer = await readTokenizer(path);
  if (tokenizer.size > vocab_size)
    throw new SpikedError(
      'ERR_TOKENIZER_INVALID',
      `${path}: expected at most the model's vocabulary of ${vocab_size} ids, found ${tokenizer.size}`,
    );
  return tokenizer;
}

/** Renaming over an input would destroy it. */
async function requireNewFile(out: string, inputs: (string | undefined)[]): Promise<void> {
  const found = await stat(out).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isFile())
    throw new SpikedError(
      'ERR_FILE_IO',
      `${out}: expected the name of a regular file, found ${found.isDirectory() ? 'a directory' : 'a device, pipe or socket'}`,
    );
  for (const input of inputs) {
    const other = input === undefined ? undefined : await stat(input).catch(() => undefined);
    if (other?.ino === found.ino && other.dev === found.dev)
      throw new SpikedError(
        'ERR_INVALID_ARGUMENT',
        `${out}: expected an output apart from the inputs, found ${String(input)}`,
      );
  }
}
