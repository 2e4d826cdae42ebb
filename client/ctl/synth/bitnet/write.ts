import type { ExportProgress } from '../../../../export/export.js';
import { GgufWriter } from '../../../../export/gguf-writer.js';
import { OutputFile } from '../../../../export/output-file.js';
import { bitnetConfigs, type BitnetConfigName } from './configs.js';
import { tensorBytes } from './fill.js';
import { bitnetMetadata, type Architecture } from './metadata.js';
import { bitnetTensors } from './tensors.js';

export interface BitnetSynthOptions {
  config: BitnetConfigName;
  out: string;
  seed: bigint;
  /** A head of its own, `output.weight`: the form that was published first. */
  outputHead: boolean;
  onProgress: (progress: ExportProgress) => void;
}

export interface BitnetSynthResult {
  path: string;
  architecture: Architecture;
  sizeBytes: number;
  nTensors: number;
  dataSha256: string;
}

// GGUF's default, and no key for it: as in published files.
const form = { alignment: 32, hashKey: undefined };

/**
 * Writes a ternary model of random weights, a block of rows at a time. The same options give the same file.
 *
 * @throws SpikedError ERR_FILE_NOT_FOUND, ERR_FILE_IO; ERR_CANCELLED after SIGINT, SIGTERM or SIGHUP
 */
export function writeBitnet(options: BitnetSynthOptions): Promise<BitnetSynthResult> {
  const { config: name, seed, outputHead } = options;
  const architecture = outputHead ? 'bitnet-25' : 'bitnet-b1.58';
  const tensors = bitnetTensors(bitnetConfigs[name], outputHead);
  const metadata = bitnetMetadata(`synth-${name}-${seed}`, architecture, bitnetConfigs[name]);
  return OutputFile.write(options.out, async (file) => {
    const writer = await GgufWriter.begin(file, metadata, tensors, form);
    for (const tensor of tensors) {
      await writer.tensor(tensor.name, tensorBytes(tensor, seed));
      options.onProgress({
        tensor: tensor.name,
        writtenBytes: writer.writtenBytes,
        totalBytes: writer.fileSizeBytes,
      });
    }
    const dataSha256 = await writer.finish();
    return {
      path: file.path,
      architecture,
      sizeBytes: writer.fileSizeBytes,
      nTensors: tensors.length,
      dataSha256,
    };
  });
}
