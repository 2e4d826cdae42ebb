import { SpikedError } from '../../protocol/errors.js';
import { addon } from '../../../native/host/addon.js';

/** What the engine's strict parser says about a GGUF file (native/capi/spiked.h, spiked_file_describe). */
interface FileDescription {
  version: number;
  alignment: number;
  data_offset: number;
  size_bytes: number;
  metadata: MetadataEntry[];
  tensors: { name: string; type: string; dims: number[]; offset_bytes: number; size_bytes: number }[];
}

interface MetadataEntry {
  key: string;
  type: string;
  value?: unknown;
  element_type?: string;
  length?: number;
  offset_bytes?: number;
}

export interface TensorEntry {
  name: string;
  type: string;
  /** Logical, as in the checkpoint; null in a file that does not state it. */
  shape: number[] | null;
  layout: string | null;
  scale_shape: number[] | null;
  /** GGUF's own order, fastest first, padding included. */
  dims: number[];
  offset_bytes: number;
  size_bytes: number;
}

export interface Manifest {
  file: string;
  gguf_version: number;
  alignment: number;
  size_bytes: number;
  data_offset: number;
  data_bytes: number;
  declared_sha256: string | null;
  /** Every metadata key but those that describe one tensor; a long array as its type, length and place. */
  metadata: Record<string, unknown>;
  tensors: TensorEntry[];
}

const family = 'symboliclight.';
const perTensor = ['layout', 'shape', 'scale_shape'] as const;

/**
 * The description of a model file, tensors in file order.
 *
 * @throws SpikedError ERR_FILE_NOT_FOUND, ERR_FILE_IO, ERR_MODEL_INVALID
 */
export async function readManifest(path: string): Promise<Manifest> {
  const file = JSON.parse(await addon().describeFile(path)) as FileDescription;
  const values = new Map(file.metadata.map((entry) => [entry.key, metadataValue(entry)]));
  const about = (kind: (typeof perTensor)[number], name: string) => values.get(`${family}${kind}.${name}`);
  const metadata = [...values].filter(
    ([key]) => !perTensor.some((kind) => key.startsWith(`${family}${kind}.`)),
  );
  const declared = values.get(`${family}data_sha256`);
  return {
    file: path,
    gguf_version: file.version,
    alignment: file.alignment,
    size_bytes: file.size_bytes,
    data_offset: file.data_offset,
    data_bytes: file.size_bytes - file.data_offset,
    declared_sha256: typeof declared === 'string' ? declared : null,
    metadata: Object.fromEntries(metadata),
    tensors: file.tensors
      .map((tensor) => ({
        name: tensor.name,
        type: tensor.type,
        shape: sizes(about('shape', tensor.name)),
        layout: text(about('layout', tensor.name)),
        scale_shape: sizes(about('scale_shape', tensor.name)),
        dims: tensor.dims,
        offset_bytes: tensor.offset_bytes,
        size_bytes: tensor.size_bytes,
      }))
      .sort((a, b) => a.offset_bytes - b.offset_bytes),
  };
}

/** The declared digest, or an error for a file that has none. */
export function declaredDigest(manifest: Manifest): string {
  if (manifest.declared_sha256 !== null) return manifest.declared_sha256;
  throw new SpikedError(
    'ERR_MODEL_INVALID',
    `${manifest.file}: expected key "${family}data_sha256", found none`,
  );
}

function metadataValue(entry: MetadataEntry): unknown {
  if (entry.value !== undefined) return entry.value;
  return { element_type: entry.element_type, length: entry.length, offset_bytes: entry.offset_bytes };
}

function sizes(value: unknown): number[] | null {
  return Array.isArray(value) ? value.map(Number) : null;
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
