import type { CheckpointContents } from '../checkpoint.js';
import type { CheckpointConfig } from '../config-file.js';
import type { InputFile } from '../input-file.js';
import { dtypeSizeBytes, type CheckpointTensor } from '../tensor.js';
import type { ArchiveEntry } from './archive-entry.js';
import { Archive } from './archive.js';
import { tensorView } from './tensor-view.js';
import { unpickle } from './unpickler.js';
import { describe, PickleDict, PickleTensor, type PickleStorage, type PickleValue } from './values.js';

const maxPickleBytes = 64 << 20;

/** Reads what `torch.save` wrote: `<root>/data.pkl` and one entry a storage, `<root>/data/<key>`. */
export async function readPytorch(file: InputFile): Promise<CheckpointContents> {
  const archive = await Archive.open(file);
  const root = rootOf(file, archive);
  await requireLittleEndian(file, archive, root);
  const saved = unpickle(`${file.path}: entry "${root}/data.pkl"`, await readPickle(file, archive, root));
  if (!(saved instanceof PickleDict))
    throw file.invalid(`expected a dict with the model's tensors, found ${describe(saved)}`);
  const storages = new Storages(file, archive, root);
  const tensors: [string, CheckpointTensor][] = [];
  for (const [name, view] of stateDict(file, saved))
    tensors.push([name, tensorView(file.path, name, view, await storages.entry(name, view.storage))]);
  if (tensors.length === 0)
    throw file.invalid('expected tensors under "model", "model_state_dict" or at top level, found none');
  return { config: configOf(file, saved), tensors, largestStorageBytes: storages.largestBytes };
}

function rootOf(file: InputFile, archive: Archive): string {
  const pickles = [...archive.names()].filter((name) => /^[^/]+\/data\.pkl$/.test(name));
  if (pickles[0] === undefined || pickles.length > 1)
    throw file.invalid(`expected one entry "<name>/data.pkl", found ${pickles.length}`);
  return pickles[0].slice(0, -'/data.pkl'.length);
}

async function readPickle(file: InputFile, archive: Archive, root: string): Promise<Buffer> {
  return readSmall(file, await archive.entry(`${root}/data.pkl`), 'data.pkl', maxPickleBytes);
}

async function requireLittleEndian(file: InputFile, archive: Archive, root: string): Promise<void> {
  const name = `${root}/byteorder`;
  if (![...archive.names()].includes(name)) return; // older files have none and are little-endian
  const order = (await readSmall(file, await archive.entry(name), 'byteorder', 16)).toString('latin1');
  if (order !== 'little')
    throw file.invalid(`entry "${name}": expected "little", found ${JSON.stringify(order)}`);
}

async function readSmall(
  file: InputFile,
  entry: ArchiveEntry,
  name: string,
  maxBytes: number,
): Promise<Buffer> {
  if (entry.sizeBytes > maxBytes)
    throw file.invalid(`${name}: expected at most ${maxBytes} bytes, found ${entry.sizeBytes}`);
  const bytes = Buffer.alloc(entry.sizeBytes);
  await entry.loadInto(bytes);
  return bytes;
}

function stateDict(file: InputFile, saved: PickleDict): [string, PickleTensor][] {
  const nested = ['model', 'model_state_dict'].find((key) => saved.get(key) instanceof PickleDict);
  const holder = nested === undefined ? saved : (saved.get(nested) as PickleDict);
  const tensors: [string, PickleTensor][] = [];
  for (const [key, value] of holder) {
    if (value instanceof PickleTensor && typeof key === 'string') tensors.push([key, value]);
    // At top level tensors stand among the config and a trainer's notes; inside the model's own dict nothing else belongs.
    else if (nested !== undefined)
      throw file.invalid(
        `"${nested}": expected tensors by name, found ${describe(value)} as ${describe(key)}`,
      );
  }
  return tensors;
}

function configOf(file: InputFile, saved: PickleDict): CheckpointConfig | undefined {
  const config = saved.get('config');
  if (config === undefined) return undefined;
  if (!(config instanceof PickleDict))
    throw file.invalid(`"config": expected a dict, found ${describe(config)}`);
  const entries: [string, PickleValue][] = [];
  for (const [key, value] of config) if (typeof key === 'string') entries.push([key, value]);
  return Object.fromEntries(entries); // defines own properties, `__proto__` included
}

/** The storages that tensors view, each checked once. */
class Storages {
  largestBytes = 0;
  private readonly entries = new Map<string, ArchiveEntry>();

  constructor(
    private readonly file: InputFile,
    private readonly archive: Archive,
    private readonly root: string,
  ) {}

  async entry(tensor: string, { key, dtype, elements }: PickleStorage): Promise<ArchiveEntry> {
    const name = `${this.root}/data/${key}`;
    const entry = this.entries.get(name) ?? (await this.archive.entry(name));
    this.entries.set(name, entry);
    const expected = elements * dtypeSizeBytes[dtype];
    if (entry.sizeBytes !== expected)
      throw this.file.invalid(
        `tensor "${tensor}": entry "${name}": expected ${expected} bytes for ${elements} of ${dtype}, found ${entry.sizeBytes}`,
      );
    this.largestBytes = Math.max(this.largestBytes, entry.sizeBytes);
    return entry;
  }
}
