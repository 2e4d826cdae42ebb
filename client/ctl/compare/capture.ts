import { InputFile } from '../../../export/input-file.js';
import { OutputFile } from '../../../export/output-file.js';
import { readSafetensorsHeader, type SafetensorsEntry } from '../../../export/safetensors.js';
import { SpikedError } from '../../protocol/errors.js';

/**
 * Logits of every position of some ids, with what they were computed from: a safetensors file of `ids` (I32 [n]) and `logits` (F32
 * [n, vocab_size]), and metadata as strings. What another program wrote in this form, with less metadata or none, can be compared, too.
 */
export interface CaptureFacts {
  ids: Int32Array;
  vocabSize: number;
  /** `model`, `model_sha256` of the model's data, `activations`, ... */
  metadata: ReadonlyMap<string, string>;
}

const lengthBytes = 8;

/**
 * Writes a capture row by row; it appears under its name when it is whole.
 *
 * @throws SpikedError ERR_FILE_NOT_FOUND, ERR_FILE_IO; ERR_CANCELLED after a signal to stop
 */
export function writeCapture(
  path: string,
  { ids, vocabSize, metadata }: CaptureFacts,
  rows: AsyncIterable<Float32Array>,
): Promise<void> {
  const idsBytes = bytesOf(ids);
  const logitsBytes = ids.length * vocabSize * 4;
  const header = JSON.stringify({
    __metadata__: Object.fromEntries(metadata),
    ids: { dtype: 'I32', shape: [ids.length], data_offsets: [0, idsBytes.length] },
    logits: {
      dtype: 'F32',
      shape: [ids.length, vocabSize],
      data_offsets: [idsBytes.length, idsBytes.length + logitsBytes],
    },
  });
  // Spaces up to a multiple of 8, as the format has it.
  const text = Buffer.from(header + ' '.repeat((8 - (Buffer.byteLength(header) % 8)) % 8));
  const length = Buffer.alloc(lengthBytes);
  length.writeBigUInt64LE(BigInt(text.length));
  return OutputFile.write(path, async (file) => {
    const begin = Buffer.concat([length, text, idsBytes]);
    await file.writeAt(begin, 0);
    let at = begin.length;
    for await (const part of rows) {
      await file.writeAt(bytesOf(part), at);
      at += part.byteLength;
    }
  });
}

/** A capture that is read position by position, so that one of any size needs one row in memory. */
export class Capture {
  private constructor(
    private readonly file: InputFile,
    readonly facts: CaptureFacts,
    private readonly logits: SafetensorsEntry,
  ) {}

  /** @throws SpikedError ERR_FILE_NOT_FOUND, ERR_FILE_IO, ERR_CHECKPOINT_INVALID, ERR_CHECKPOINT_TENSOR */
  static async open(path: string): Promise<Capture> {
    const file = await InputFile.open(path);
    try {
      const { metadata, entries } = await readSafetensorsHeader(file);
      const idsEntry = required(path, entries, 'ids', 'i32', 1);
      const logits = required(path, entries, 'logits', 'f32', 2);
      const [n = 0] = idsEntry.shape;
      const [rows = 0, vocabSize = 0] = logits.shape;
      if (rows !== n || vocabSize === 0)
        throw wrong(path, 'logits', `expected shape [${n}, vocab_size], found [${rows}, ${vocabSize}]`);
      const ids = new Int32Array(n);
      await file.readInto(bytesOf(ids), idsEntry.begin);
      return new Capture(file, { ids, vocabSize, metadata }, logits);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  get path(): string {
    return this.file.path;
  }

  /** Fills `into`, of vocab_size values. */
  async row(position: number, into: Float32Array): Promise<void> {
    await this.file.readInto(bytesOf(into), this.logits.begin + position * into.byteLength);
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

function required(
  path: string,
  entries: readonly SafetensorsEntry[],
  name: string,
  dtype: string,
  nDims: number,
): SafetensorsEntry {
  const entry = entries.find((one) => one.name === name);
  const expected = `expected ${dtype} of ${nDims} dimension${nDims === 1 ? '' : 's'}`;
  if (entry === undefined) throw wrong(path, name, `${expected}, found no such tensor`);
  if (entry.dtype !== dtype || entry.shape.length !== nDims)
    throw wrong(path, name, `${expected}, found ${entry.dtype} [${entry.shape.join(', ')}]`);
  return entry;
}

function wrong(path: string, name: string, text: string): SpikedError {
  return new SpikedError('ERR_CHECKPOINT_TENSOR', `${path}: tensor "${name}": ${text}`);
}

function bytesOf(values: Float32Array | Int32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
