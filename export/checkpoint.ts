import { readConfigBeside, readConfigFile, type CheckpointConfig } from './config-file.js';
import { InputFile } from './input-file.js';
import { readPytorch } from './pytorch/state-dict.js';
import { readSafetensors } from './safetensors.js';
import { unwrapNames } from './state-dict.js';
import type { CheckpointTensor } from './tensor.js';

export type { CheckpointDtype, CheckpointTensor } from './tensor.js';

export interface Checkpoint {
  readonly path: string;
  /** As stored; which keys matter is the model family's affair. */
  readonly config: CheckpointConfig;
  readonly tensors: Map<string, CheckpointTensor>;
  readonly largestStorageBytes: number;
  close(): Promise<void>;
}

/** What a format's reader finds in a file. */
export interface CheckpointContents {
  /** Absent where the format has no place for one. */
  readonly config: CheckpointConfig | undefined;
  readonly tensors: Iterable<readonly [string, CheckpointTensor]>;
  readonly largestStorageBytes: number;
}

/**
 * A `torch.save` archive or a safetensors file, told apart by content. Reads the index only: tensors are read when asked for.
 *
 * @param opts.configPath  JSON file with the configuration; wins over one in or beside the checkpoint
 * @throws SpikedError ERR_FILE_NOT_FOUND, ERR_FILE_IO, ERR_CHECKPOINT_INVALID
 * @throws SpikedError ERR_CHECKPOINT_UNSAFE when a pickle asks for anything but plain tensors
 */
export async function openCheckpoint(path: string, opts: { configPath?: string } = {}): Promise<Checkpoint> {
  const file = await InputFile.open(path);
  try {
    const contents = await readContents(file);
    const config =
      opts.configPath !== undefined
        ? await readConfigFile(opts.configPath)
        : (contents.config ?? (await readConfigBeside(path)));
    return {
      path,
      config,
      tensors: unwrapNames(path, contents.tensors),
      largestStorageBytes: contents.largestStorageBytes,
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
  if (head[8] === openBrace) return readSafetensors(file);
  throw file.invalid(
    `expected a zip archive written by torch.save or a safetensors file, found ${describeHead(head)}`,
  );
}

const zipMagic = Buffer.from('PK\x03\x04', 'latin1');
const openBrace = 0x7b;

function describeHead(head: Buffer): string {
  if (head.length === 0) return 'an empty file';
  if (head.subarray(0, 4).toString('latin1') === 'GGUF') return 'a GGUF file';
  if (head[0] === 0x80) return "a bare pickle (torch.save's format before version 1.6)";
  return `a file that begins with the bytes ${head.subarray(0, 4).toString('hex')}`;
}
