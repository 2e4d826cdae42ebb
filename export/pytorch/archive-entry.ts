import { pipeline } from 'node:stream/promises';
import { crc32, createInflateRaw } from 'node:zlib';
import { SpikedError } from '../../client/protocol/errors.js';
import type { InputFile } from '../input-file.js';

export interface EntryPlace {
  dataStart: number;
  storedBytes: number;
  sizeBytes: number;
  isDeflated: boolean;
  crc: number;
}

/** One entry of a zip file. Its checksum is verified before its first byte is handed out. */
export class ArchiveEntry {
  private isVerified = false;

  constructor(
    private readonly file: InputFile,
    private readonly name: string,
    private readonly shared: SharedMemory,
    private readonly place: EntryPlace,
  ) {}

  get sizeBytes(): number {
    return this.place.sizeBytes;
  }

  /** Fills `target` with the entry's bytes from `offset`: stored data comes straight from the file. */
  async readInto(target: Uint8Array, offset: number): Promise<void> {
    if (this.place.isDeflated)
      return this.withAll((bytes) => target.set(bytes.subarray(offset, offset + target.length)));
    await this.verifyStored();
    await this.file.readInto(target, this.place.dataStart + offset);
  }

  /** Runs `use` on all bytes of the entry, which are valid only inside it. */
  async withAll(use: (bytes: Uint8Array) => void): Promise<void> {
    await this.shared.withWhole(this, use);
  }

  /** Takes memory for `withAll` ahead, so that reading entries of growing size does not allocate again and again. */
  reserveAll(): void {
    this.shared.reserve(this.sizeBytes);
  }

  get isDeflated(): boolean {
    return this.place.isDeflated;
  }

  /** Fills `target`, of the entry's size, with the whole entry. */
  async loadInto(target: Uint8Array): Promise<void> {
    const { dataStart, storedBytes, isDeflated } = this.place;
    if (isDeflated) await this.inflateInto(target);
    else await this.file.readInto(target, dataStart);
    this.checkCrc(crc32(target), storedBytes);
  }

  private async verifyStored(): Promise<void> {
    if (this.isVerified) return;
    const { dataStart, storedBytes } = this.place;
    const end = dataStart + storedBytes;
    const crc = await this.shared.withScan(async (scan) => {
      let crc = 0;
      for (let position = dataStart; position < end; position += scan.length) {
        const block = scan.subarray(0, Math.min(scan.length, end - position));
        await this.file.readInto(block, position);
        crc = crc32(block, crc);
      }
      return crc;
    });
    this.checkCrc(crc, storedBytes);
    this.isVerified = true;
  }

  private async inflateInto(target: Uint8Array): Promise<void> {
    const { dataStart, storedBytes } = this.place;
    const inflate = createInflateRaw({ chunkSize: inflateChunkBytes });
    let done = 0;
    try {
      await pipeline(
        this.file.blocks(dataStart, dataStart + storedBytes),
        inflate,
        async (chunks: AsyncIterable<Buffer>) => {
          for await (const chunk of chunks) {
            if (done + chunk.length > target.length) throw new Error(`more than ${target.length} bytes`);
            target.set(chunk, done);
            done += chunk.length;
          }
        },
      );
    } catch (error) {
      if (error instanceof SpikedError) throw error;
      throw this.invalid(`expected deflated data, found ${(error as Error).message}`);
    }
    if (done !== target.length) throw this.invalid(`expected ${target.length} bytes inflated, found ${done}`);
  }

  private checkCrc(found: number, storedBytes: number): void {
    if (found === this.place.crc) return;
    const [expectedHex, foundHex] = [this.place.crc, found].map((crc) => crc.toString(16).padStart(8, '0'));
    throw this.invalid(`expected CRC-32 ${expectedHex} over ${storedBytes} stored bytes, found ${foundHex}`);
  }

  private invalid(text: string): SpikedError {
    return this.file.invalid(`entry "${this.name}": ${text}`);
  }
}

const inflateChunkBytes = 1 << 14;
const scanBytes = 1 << 18;

/** Memory that an archive's entries take turns in: one entry read as a whole, and one block to scan. Never two entries. */
export class SharedMemory {
  private reservedBytes = 0;
  private memory = new Uint8Array(0);
  private held: ArchiveEntry | undefined;
  private readonly scan = new Uint8Array(scanBytes);
  private last: Promise<unknown> = Promise.resolve();

  reserve(sizeBytes: number): void {
    this.reservedBytes = Math.max(this.reservedBytes, sizeBytes);
  }

  withWhole(entry: ArchiveEntry, use: (bytes: Uint8Array) => void): Promise<void> {
    return this.inTurn(async () => use(await this.load(entry)));
  }

  withScan<T>(use: (scan: Uint8Array) => Promise<T>): Promise<T> {
    return this.inTurn(() => use(this.scan));
  }

  private inTurn<T>(job: () => Promise<T>): Promise<T> {
    const turn = this.last.then(job);
    this.last = turn.catch(() => undefined);
    return turn;
  }

  private async load(entry: ArchiveEntry): Promise<Uint8Array> {
    this.reserve(entry.sizeBytes);
    if (this.memory.length < this.reservedBytes) {
      this.held = undefined;
      this.memory = new Uint8Array(this.reservedBytes);
    }
    const bytes = this.memory.subarray(0, entry.sizeBytes);
    if (this.held !== entry) {
      this.held = undefined;
      await entry.loadInto(bytes);
      this.held = entry;
    }
    return bytes;
  }
}
