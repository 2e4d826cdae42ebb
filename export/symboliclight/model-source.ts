import {
  addon,
  describeModel,
  digestModel,
  unpackRows,
  type MetadataValue,
  type ModelFile,
  type TensorEntry,
} from '../../native/host/index.js';
import type { CheckpointContents } from '../checkpoint.js';
import type { InputFile } from '../input-file.js';
import type { WeightDtype, WeightLayout } from '../packer.js';
import { rowCount, rowLength, rowTarget, type CheckpointTensor, type PackedForm } from '../tensor.js';

/**
 * One of our own model files, read as a checkpoint: its tensors are the values that its codes stand for. The engine opens it first, so
 * that every check of a load holds, and its data must have the digest that it declares: an export must not bless what was damaged.
 *
 * @throws SpikedError ERR_MODEL_INVALID, ERR_MODEL_VERSION, ERR_MODEL_UNSUPPORTED, ERR_MODEL_TENSOR as a load does
 * @throws SpikedError ERR_CHECKPOINT_INVALID when the data is not the declared one
 */
export async function readModelSource(file: InputFile): Promise<CheckpointContents> {
  await requireLoadable(file.path);
  const described = await describeModel(file.path);
  const { dataSha256, matches } = await digestModel(described);
  if (matches !== true)
    throw file.invalid(
      `data: expected SHA-256 ${described.dataSha256 ?? ''} as declared, found ${dataSha256}`,
    );
  const value = (key: string): MetadataValue | undefined => described.metadata.get(key)?.value;
  const tokenizerSize = Number(value('symboliclight.tokenizer_size'));
  const entries = described.tensors.filter(({ shape }) => shape !== undefined); // a scale belongs to its tensor
  const columns = new WholeTensor(file);
  return {
    config: configOf(described),
    tensors: entries.map((entry) => [entry.name, tensorOf(file, described, entry, columns)] as const),
    largestStorageBytes: Math.max(...entries.map(({ sizeBytes }) => sizeBytes)),
    model: {
      name: String(value('general.name')),
      tokenizer: {
        bytes:
          described.tokenizer === undefined
            ? undefined
            : await file.read(described.tokenizer.offsetBytes, described.tokenizer.sizeBytes),
        size: tokenizerSize,
      },
    },
  };
}

async function requireLoadable(path: string): Promise<void> {
  const engine = addon().openEngine({ threads: 1 });
  try {
    (await engine.openModel(path)).close();
  } finally {
    engine.close();
  }
}

function configOf({ metadata }: ModelFile): Record<string, unknown> {
  const config: Record<string, unknown> = {};
  for (const [key, { value }] of metadata) {
    const [family, name, ...rest] = key.split('.');
    if (family === 'symboliclight' && name !== undefined && rest.length === 0) config[name] = value;
  }
  // What tells the two published forms apart in a checkpoint.
  if (config['form'] === '194m') config['enable_entropy_exit'] = false;
  return config;
}

function tensorOf(
  file: InputFile,
  { tensors }: ModelFile,
  entry: TensorEntry,
  columns: WholeTensor,
): CheckpointTensor {
  const shape = entry.shape ?? [];
  const layout = entry.layout as WeightLayout;
  const dtype: WeightDtype = entry.type === 'F32' ? 'f32' : layout === 'panel_4x32_i4' ? 'i4' : 'i8';
  const [rows, cols] = [rowCount(shape), rowLength(shape)];
  const scaleEntry = tensors.find(({ name }) => dtype === 'i8' && name === `${entry.name}.scale`);
  let scales: Promise<Float32Array> | undefined;
  const readScale = (): Promise<Float32Array> | undefined => {
    if (scaleEntry === undefined) return undefined;
    return (scales ??= file
      .read(scaleEntry.offsetBytes, scaleEntry.sizeBytes)
      .then((bytes) => new Float32Array(new Uint8Array(bytes).buffer)));
  };
  const panelBytes = entry.sizeBytes / Math.ceil(rows / panelRows);
  const packed: PackedForm = {
    dtype,
    layout,
    data: () => file.blocks(entry.offsetBytes, entry.offsetBytes + entry.sizeBytes),
    scale: readScale,
  };
  const tensor: CheckpointTensor = {
    name: entry.name,
    dtype: 'f32',
    shape,
    packed,
    async readRows(from, to, into) {
      const out = rowTarget(tensor, from, to, into);
      if (out.length === 0) return out;
      const scale = (await readScale()) ?? null;
      if (layout === 'row_major') {
        await file.readInto(bytesOf(out), entry.offsetBytes + from * cols * 4);
        return out;
      }
      if (layout === 'column_major') {
        const data = await columns.read(entry);
        return unpackRows({ dtype, layout, rows, cols, data, scale }, from, to, out);
      }
      const [first, last] = [Math.floor(from / panelRows), Math.ceil(to / panelRows)];
      const begin = first * panelRows;
      const data = await file.read(entry.offsetBytes + first * panelBytes, (last - first) * panelBytes);
      const block = {
        dtype,
        layout,
        rows: Math.min(rows, last * panelRows) - begin,
        cols,
        data,
        scale: scale?.subarray(begin, last * panelRows) ?? null,
      };
      return unpackRows(block, from - begin, to - begin, out);
    },
  };
  return tensor;
}

const panelRows = 4;

/** Holds the column-major tensor read last: a row of it is spread over all of its bytes. */
class WholeTensor {
  private name = '';
  private memory = new Uint8Array(0);

  constructor(private readonly file: InputFile) {}

  async read({ name, offsetBytes, sizeBytes }: TensorEntry): Promise<Uint8Array> {
    if (this.memory.length < sizeBytes) this.memory = new Uint8Array(sizeBytes);
    const whole = this.memory.subarray(0, sizeBytes);
    if (this.name !== name) await this.file.readInto(whole, offsetBytes);
    this.name = name;
    return whole;
  }
}

function bytesOf(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
