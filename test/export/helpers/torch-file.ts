import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dict, orderedDict, proto, scalar, stop, str, tensor, type TensorSpec } from './pickle.js';
import { ZipWriter, type EntryOptions, type Sink } from './zip-writer.js';

export type ConfigSpec = Record<string, number | boolean | string | null>;

export interface TorchFileSpec {
  config?: ConfigSpec;
  /** Where the tensors go: under this key, or at top level for null. */
  under?: 'model' | 'model_state_dict' | null;
  tensors: [name: string, spec: TensorSpec][];
  storages: Iterable<[key: string, chunks: Iterable<Buffer>]>;
  options?: EntryOptions;
  extraEntries?: [name: string, bytes: Buffer][];
  /** Replaces the pickle that the other fields would give. */
  pickle?: Buffer;
}

export function pickleOf({ config = {}, under = 'model', tensors }: TorchFileSpec): Buffer {
  const configPair: [Buffer, Buffer] = [
    str('config'),
    dict(...Object.entries(config).map(([key, value]) => [str(key), scalar(value)] as [Buffer, Buffer])),
  ];
  const pairs = tensors.map(([name, spec]) => [str(name), tensor(spec)] as [Buffer, Buffer]);
  const saved =
    under === null ? dict(configPair, ...pairs) : dict(configPair, [str(under), orderedDict(...pairs)]);
  return Buffer.concat([proto, saved, stop]);
}

export function writeTorchFile(spec: TorchFileSpec, sink: Sink): void {
  const zip = new ZipWriter(sink);
  zip.add('archive/data.pkl', [spec.pickle ?? pickleOf(spec)], spec.options);
  for (const [name, bytes] of spec.extraEntries ?? []) zip.add(`archive/${name}`, [bytes]);
  for (const [key, chunks] of spec.storages) zip.add(`archive/data/${key}`, chunks, spec.options);
  zip.add('archive/version', [Buffer.from('3\n')]);
  zip.finish();
}

export function torchBytes(spec: TorchFileSpec): Buffer {
  const parts: Buffer[] = [];
  writeTorchFile(spec, (bytes) => parts.push(Buffer.from(bytes)));
  return Buffer.concat(parts);
}

export function writeTorchFileTo(path: string, spec: TorchFileSpec): void {
  const fd = openSync(path, 'w');
  try {
    writeTorchFile(spec, (bytes) => {
      for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done);
    });
  } finally {
    closeSync(fd);
  }
}

export function f32Bytes(values: ArrayLike<number>): Buffer {
  return Buffer.from(Float32Array.from(values).buffer);
}

/** A folder of the test's own; `remove` when done. */
export function scratchFolder(): {
  path: (name: string) => string;
  write: (name: string, bytes: Buffer | string) => string;
  remove: () => void;
} {
  const folder = mkdtempSync(join(tmpdir(), 'spiked-export-'));
  const path = (name: string): string => join(folder, name);
  return {
    path,
    write: (name, bytes) => {
      writeFileSync(path(name), bytes);
      return path(name);
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
