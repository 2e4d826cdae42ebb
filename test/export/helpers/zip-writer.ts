import { crc32, deflateRawSync } from 'node:zlib';

/** Where a zip is written: a file's descriptor or a list of buffers. */
export type Sink = (bytes: Buffer) => void;

export interface EntryOptions {
  deflate?: boolean;
  /** Sizes and offset in the entry's zip64 field, as archives beyond 4 GiB have them. */
  zip64?: boolean;
  /** Overrides in the central directory, to write archives that lie. */
  claim?: { crc?: number; sizeBytes?: number; flags?: number; method?: number };
}

/** Writes a zip the way torch.save does: sizes only in the central directory, stored data 64-byte aligned, zip64 end record. */
export class ZipWriter {
  private position = 0;
  private readonly central: Buffer[] = [];

  constructor(private readonly sink: Sink) {}

  /** `chunks` are consumed one at a time, so that an entry may be larger than memory; a deflated one is held whole. */
  add(
    name: string,
    chunks: Iterable<Buffer>,
    { deflate = false, zip64 = false, claim = {} }: EntryOptions = {},
  ): void {
    const headerAt = this.position;
    const nameBytes = Buffer.from(name, 'utf8');
    const padding = (64 - ((this.position + 30 + nameBytes.length + 4) % 64)) % 64;
    const extra = Buffer.alloc(4 + padding, 0x5a);
    extra.write('FB', 0, 'latin1');
    extra.writeUInt16LE(padding, 2);
    const method = claim.method ?? (deflate ? 8 : 0);
    const flags = claim.flags ?? 0x0808;
    const local = Buffer.alloc(30);
    local.write('PK\x03\x04', 0, 'latin1');
    local.writeUInt16LE(flags, 6);
    local.writeUInt16LE(method, 8);
    local.writeUInt16LE(nameBytes.length, 26);
    local.writeUInt16LE(extra.length, 28);
    for (const part of [local, nameBytes, extra]) this.write(part);
    const dataAt = this.position;
    let crc = 0;
    let sizeBytes = 0;
    const held: Buffer[] = [];
    for (const chunk of chunks) {
      crc = crc32(chunk, crc);
      sizeBytes += chunk.length;
      if (deflate) held.push(Buffer.from(chunk));
      else this.write(chunk);
    }
    if (deflate) this.write(deflateRawSync(Buffer.concat(held), { level: 1 }));
    const storedBytes = this.position - dataAt;
    this.write(
      Buffer.concat([Buffer.from('PK\x07\x08', 'latin1'), u32(crc), u32(storedBytes), u32(sizeBytes)]),
    );
    const record = Buffer.alloc(46);
    record.write('PK\x01\x02', 0, 'latin1');
    record.writeUInt16LE(flags, 8);
    record.writeUInt16LE(method, 10);
    record.writeUInt32LE(claim.crc ?? crc, 16);
    record.writeUInt32LE(storedBytes, 20);
    record.writeUInt32LE(zip64 ? 0 : (claim.sizeBytes ?? sizeBytes), 24);
    record.writeUInt16LE(nameBytes.length, 28);
    record.writeUInt32LE(headerAt, 42);
    const wide = Buffer.alloc(zip64 ? 28 : 0);
    if (zip64) {
      for (const at of [20, 24, 42]) record.writeUInt32LE(0xffffffff, at);
      record.writeUInt16LE(wide.length, 30);
      wide.writeUInt16LE(1);
      wide.writeUInt16LE(24, 2);
      [claim.sizeBytes ?? sizeBytes, storedBytes, headerAt].forEach((value, i) =>
        wide.writeBigUInt64LE(BigInt(value), 4 + 8 * i),
      );
    }
    this.central.push(Buffer.concat([record, nameBytes, wide]));
  }

  finish(): void {
    const directoryAt = this.position;
    const directory = Buffer.concat(this.central);
    const count = this.central.length;
    this.write(directory);
    const endAt = this.position;
    const zip64End = Buffer.alloc(56);
    zip64End.write('PK\x06\x06', 0, 'latin1');
    zip64End.writeBigUInt64LE(44n, 4);
    zip64End.writeBigUInt64LE(BigInt(count), 24);
    zip64End.writeBigUInt64LE(BigInt(count), 32);
    zip64End.writeBigUInt64LE(BigInt(directory.length), 40);
    zip64End.writeBigUInt64LE(BigInt(directoryAt), 48);
    const locator = Buffer.alloc(20);
    locator.write('PK\x06\x07', 0, 'latin1');
    locator.writeBigUInt64LE(BigInt(endAt), 8);
    locator.writeUInt32LE(1, 16);
    const end = Buffer.alloc(22);
    end.write('PK\x05\x06', 0, 'latin1');
    end.writeUInt16LE(0xffff, 8);
    end.writeUInt16LE(0xffff, 10);
    end.writeUInt32LE(0xffffffff, 12);
    end.writeUInt32LE(0xffffffff, 16);
    for (const part of [zip64End, locator, end]) this.write(part);
  }

  private write(bytes: Buffer): void {
    this.sink(bytes);
    this.position += bytes.length;
  }
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
