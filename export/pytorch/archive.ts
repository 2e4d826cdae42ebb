import { fromRandomAccessReaderPromise, type Entry, type ZipFile } from 'yauzl';
import { SpikedError } from '../../client/protocol/errors.js';
import type { InputFile } from '../input-file.js';
import { ArchiveEntry, SharedMemory } from './archive-entry.js';
import { ZipReader } from './zip-reader.js';

const maxEntries = 100_000;
const stored = 0;
const deflated = 8;

// Deflate cannot expand further than this, so a larger claim is a lie told before any memory is taken for it.
const maxExpansion = 1032;

/** A zip file's entries by name. */
export class Archive {
  private readonly shared = new SharedMemory();

  private constructor(
    readonly file: InputFile,
    private readonly zip: ZipFile,
    private readonly entries: Map<string, Entry>,
  ) {}

  /** @throws SpikedError ERR_CHECKPOINT_INVALID */
  static async open(file: InputFile): Promise<Archive> {
    try {
      const zip = await fromRandomAccessReaderPromise(new ZipReader(file), file.sizeBytes, {
        autoClose: false,
        strictFileNames: true,
      });
      if (zip.entryCount > maxEntries) throw new Error(`${zip.entryCount} entries, more than ${maxEntries}`);
      const entries = new Map<string, Entry>();
      for await (const entry of zip.eachEntry()) {
        if (entries.has(entry.fileName)) throw new Error(`two entries "${entry.fileName}"`);
        entries.set(entry.fileName, entry);
      }
      return new Archive(file, zip, entries);
    } catch (error) {
      if (error instanceof SpikedError) throw error;
      throw file.invalid(`expected a complete zip archive, found ${(error as Error).message}`);
    }
  }

  names(): Iterable<string> {
    return this.entries.keys();
  }

  /** The entry's place and size; its data is not read yet. */
  async entry(name: string): Promise<ArchiveEntry> {
    const entry = this.entries.get(name);
    if (entry === undefined) throw this.invalid(name, 'expected this entry, found none');
    const { compressedSize, uncompressedSize, compressionMethod } = entry;
    if (!entry.canDecodeFileData())
      throw this.invalid(
        name,
        `expected stored or deflated data, found ${entry.isEncrypted() ? 'encrypted data' : `compression method ${compressionMethod}`}`,
      );
    if (compressionMethod === deflated && uncompressedSize > compressedSize * maxExpansion)
      throw this.invalid(
        name,
        `expected at most ${compressedSize * maxExpansion} bytes inflated, found a claim of ${uncompressedSize}`,
      );
    let dataStart;
    try {
      ({ fileDataStart: dataStart } = await this.zip.readLocalFileHeaderPromise(entry, { minimal: true }));
    } catch (error) {
      throw this.invalid(name, `expected its data in the file, found ${(error as Error).message}`);
    }
    return new ArchiveEntry(this.file, name, this.shared, {
      dataStart,
      storedBytes: compressedSize,
      sizeBytes: uncompressedSize,
      isDeflated: compressionMethod !== stored,
      crc: entry.crc32,
    });
  }

  private invalid(name: string, text: string): SpikedError {
    return this.file.invalid(`entry "${name}": ${text}`);
  }
}
