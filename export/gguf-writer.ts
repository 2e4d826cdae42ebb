import { createHash } from 'node:crypto';
import { SpikedError } from '../client/protocol/errors.js';
import { aligned, alignmentBytes, encodeHeader, ggufMagic, tensorSizeBytes } from './gguf-header.js';
import type { GgufHeader, GgufTensor, GgufValue } from './gguf-header.js';
import type { OutputFile } from './output-file.js';

/** What a family's files have beside metadata and tensors. */
export interface GgufForm {
  /** Of the data; another than 32 needs `general.alignment` among the metadata. */
  alignment: number;
  /** The key whose value is known only when all data is written, 64 hex digits; undefined for none. */
  hashKey: string | undefined;
}

// Whole multiples of a huge page, at their own place: file systems with large folios keep them so in the page cache, where the engine maps them.
const blockBytes = 4 << 20;

const ownForm: GgufForm = { alignment: alignmentBytes, hashKey: 'symboliclight.data_sha256' };

/**
 * Streams a GGUF file: tensors in the order of the table, each in as many parts as its writer likes.
 * The magic is written last, after everything else is on the disk, so that an interrupted file is none.
 */
export class GgufWriter {
  private readonly hash = createHash('sha256');
  private position = 0;
  private readonly block = new Uint8Array(blockBytes);
  private next = 0;

  private constructor(
    private readonly file: OutputFile,
    private readonly header: GgufHeader,
    private readonly tensors: readonly GgufTensor[],
    private readonly form: GgufForm,
  ) {}

  static async begin(
    file: OutputFile,
    metadata: ReadonlyMap<string, GgufValue>,
    tensors: readonly GgufTensor[],
    form: GgufForm = ownForm,
  ): Promise<GgufWriter> {
    const all = new Map(metadata);
    if (form.hashKey !== undefined) all.set(form.hashKey, { type: 'string', value: '0'.repeat(64) });
    const header = encodeHeader(all, tensors, form.alignment);
    const unfinished = Buffer.from(header.bytes);
    unfinished.fill(0, 0, ggufMagic.length);
    const writer = new GgufWriter(file, header, tensors, form);
    await writer.append(unfinished);
    return writer;
  }

  get fileSizeBytes(): number {
    return this.header.fileSizeBytes;
  }

  get writtenBytes(): number {
    return this.position;
  }

  /** Writes the next tensor of the table from parts whose sizes add up to its own. */
  async tensor(name: string, parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    const tensor = this.tensors[this.next];
    if (tensor?.name !== name)
      throw this.bug(`expected tensor "${tensor?.name ?? 'none'}" next, found "${name}"`);
    const begin = this.position;
    for await (const part of parts) await this.appendData(part);
    const [expected, found] = [tensorSizeBytes(tensor), this.position - begin];
    if (found !== expected) throw this.bug(`tensor "${name}": expected ${expected} bytes, found ${found}`);
    await this.appendData(new Uint8Array(aligned(this.position, this.form.alignment) - this.position));
    this.next++;
  }

  /** Completes the header and makes the file one. @returns the SHA-256 of the data section */
  async finish(): Promise<string> {
    if (this.next !== this.tensors.length || this.position !== this.header.fileSizeBytes)
      throw this.bug(`expected ${this.tensors.length} tensors, found ${this.next}`);
    await this.writeBlock(this.position % blockBytes);
    const digest = this.hash.digest('hex');
    if (this.form.hashKey !== undefined) await this.declareHash(this.form.hashKey, digest);
    await this.file.sync();
    await this.file.writeAt(ggufMagic, 0);
    return digest;
  }

  private async declareHash(key: string, digest: string): Promise<void> {
    const at = this.header.textPositions.get(key);
    if (at === undefined) throw this.bug(`expected a place for "${key}", found none`);
    await this.file.writeAt(Buffer.from(digest, 'latin1'), at);
  }

  private async appendData(bytes: Uint8Array): Promise<void> {
    this.hash.update(bytes);
    await this.append(bytes);
  }

  private async append(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length;) {
      const at = this.position % blockBytes;
      const part = bytes.subarray(done, done + blockBytes - at);
      this.block.set(part, at);
      this.position += part.length;
      done += part.length;
      if (at + part.length === blockBytes) await this.writeBlock(blockBytes);
    }
  }

  /** The last `length` bytes so far, which are the begin of the block. */
  private async writeBlock(length: number): Promise<void> {
    await this.file.writeAt(this.block.subarray(0, length), this.position - length);
  }

  private bug(text: string): SpikedError {
    return new SpikedError('ERR_INTERNAL', `${this.file.path}: ${text}`);
  }
}
