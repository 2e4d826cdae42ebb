import { ggufMagic } from './gguf-header.js';
import { readConfigBeside, readConfigFile, type CheckpointConfig } from './config-file.js';
import { SpikedError } from '../client/protocol/errors.js';
import { InputFile } from './input-file.js';
import { readPytorch } from './pytorch/state-dict.js';
import { readSafetensors } from './safetensors.js';
import { unwrapNames } from './state-dict.js';
import { readModelSource } from './symboliclight/model-source.js';
import type { CheckpointTensor } from './tensor.js';
import type { Tokenizer } from './tokenizer.js';

export type { CheckpointDtype, CheckpointTensor } from './tensor.js';

export interface Checkpoint {
  readonly path: string;
  /** As stored; which keys matter is the model family's affair. */
  readonly config: CheckpointConfig;
  readonly tensors: Map<string, CheckpointTensor>;
  readonly largestStorageBytes: number;
  /** Only of a checkpoint that is a model file. */
  readonly model?: SourceModel | undefined;
  close(): Promise<void>;
}

/** What a model file has beside a checkpoint's configuration and tensors; buffers that can be recomputed it has not. */
export interface SourceModel {
  readonly name: string;
  readonly tokenizer: Tokenizer;
}

/** What a format's reader finds in a file. */
export interface CheckpointContents {
  /** Absent where the format has no place for one. */
  readonly config: CheckpointConfig | undefined;
  readonly tensors: Iterable<readonly [string, CheckpointTensor]>;
  readonly largestStorageBytes: number;
  readonly model?: SourceModel;
}

/**
 * A `torch.save` archive, a safetensors file or one of our own model files, told apart by content. Reads the index only: tensors are read when asked for.
 *
 * @param opts.configPath  JSON file with the configuration; wins over one in or beside the checkpoint
 * @throws SpikedError ERR_FILE_NOT_FOUND, ERR_FILE_IO, ERR_CHECKPOINT_INVALID
 * @throws SpikedError ERR_CHECKPOINT_UNSAFE when a pickle asks for anything but plain tensors
 * @throws SpikedError ERR_MODEL_INVALID, ERR_MODEL_VERSION, ERR_MODEL_UNSUPPORTED, ERR_MODEL_TENSOR for a model file that does not load
 * @throws SpikedError ERR_INVALID_ARGUMENT for a configuration beside a model file
 */
export async function openCheckpoint(path: string, opts: { configPath?: string } = {}): Promise<Checkpoint> {
  const file = await InputFile.open(path);
  try {
    const contents = await readContents(file);
    if (contents.model !== undefined && opts.configPath !== undefined)
      throw new SpikedError(
        'ERR_INVALID_ARGUMENT',
        `${path}: expected no configuration beside a model file's own, found ${opts.configPath}`,
      );
    const config =
      opts.configPath !== undefined
        ? await readConfigFile(opts.configPath)
        : (contents.config ?? (await readConfigBeside(path)));
    return {
      path,
      config,
      tensors: unwrapNames(path, contents.tensors),
      largestStorageBytes: contents.largestStorageBytes,
      model: contents.model,
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function readContents(file: InputFile): Promise<CheckpointContents> {
  const head = await file.read(0, Math.min(9, file.sizeBytes));
  if (head.subarray(0, 4).equals(zipMagic)) return readPytorch(file);
  if (head.subarray(0, 4).equals(ggufMagic)) return readModelSource(file);
  if (head[8] === openBrace) return readSafetensors(file);
  throw file.invalid(
    `expected a zip archive written by torch.save, a safetensors file or a model file, found ${describeHead(head)}`,
  );
}

const zipMagic = Buffer.from('PK\x03\x04', 'latin1');
const openBrace = 0x7b;

function describeHead(head: Buffer): string {
  if (head.length === 0) return 'an empty file';
  if (head[0] === 0x80) return "a bare pickle (torch.save's format before version 1.6)";
  return `a file that begins with the bytes ${head.subarray(0, 4).toString('hex')}`;
}
