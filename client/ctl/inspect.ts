import { Command } from 'commander';
import { describeModel, digestedLayout, digestModel } from '../../native/host/index.js';
import type { Layout, MetadataEntry, ModelDigest, ModelFile } from '../../native/host/index.js';
import { SpikedError } from '../protocol/errors.js';
import { printJson, printLine, table } from './output.js';

interface InspectOptions {
  json?: true;
  verify?: true;
}

export function inspectCommand(): Command {
  return new Command('inspect')
    .description('show what a model file holds: configuration, tensors, SHA-256 of their data')
    .argument('<model>', 'model file (GGUF)')
    .option('--verify', 'compare the digest of the data with the declared one (exit 3 when they differ)')
    .option('--json', 'one JSON object')
    .action(inspect);
}

async function inspect(path: string, options: InspectOptions): Promise<void> {
  const file = await describeModel(path);
  if (options.verify && file.dataSha256 === undefined)
    throw new SpikedError(
      'ERR_MODEL_INVALID',
      `${path}: expected a declared SHA-256 of the data, found none`,
    );
  const digest = await digestModel(file);
  const layout = await layoutOf(file);
  if (options.json) await printJson(toMachine(file, digest, layout, options.verify === true));
  else await printLine(toPeople(file, digest, layout));
  if (options.verify && digest.matches === false)
    throw new SpikedError(
      'ERR_CHECK_FAILED',
      `${path}: data: expected SHA-256 ${file.dataSha256 ?? ''} as declared, found ${digest.dataSha256}`,
    );
}

/** Nothing in an I2_S file says how its weights are laid out: only a published one is known. */
function layoutOf(file: ModelFile): Promise<Layout> {
  const ternary = file.tensors.some(({ type }) => type === 'I2_S');
  return ternary ? digestedLayout(file.path, new AbortController().signal) : Promise.resolve('stated');
}

function toMachine(file: ModelFile, digest: ModelDigest, layout: Layout, verify: boolean): object {
  return {
    file: file.path,
    gguf_version: file.version,
    alignment: file.alignment,
    size_bytes: file.sizeBytes,
    data_offset_bytes: file.dataOffsetBytes,
    data_bytes: file.sizeBytes - file.dataOffsetBytes,
    data_sha256: digest.dataSha256,
    declared_sha256: file.dataSha256 ?? null,
    verified: verify ? digest.matches === true : null,
    layout,
    metadata: Object.fromEntries(ownMetadata(file).map(([key, entry]) => [key, machineValue(entry)])),
    tensors: inFileOrder(file).map((tensor) => ({
      name: tensor.name,
      type: tensor.type,
      shape: tensor.shape ?? null,
      layout: tensor.layout ?? null,
      scale_shape: tensor.scaleShape ?? null,
      dims: tensor.dims,
      offset_bytes: tensor.offsetBytes,
      size_bytes: tensor.sizeBytes,
      sha256: digest.tensorSha256.get(tensor.name),
    })),
  };
}

const layoutText = {
  stated: [],
  unread: [],
  known: ['layout: known, this is a published file'],
  unverified: [
    'layout unverified: this is no published file, and nothing in it says how its I2_S weights lie',
  ],
} as const satisfies Record<Layout, readonly string[]>;

function toPeople(file: ModelFile, digest: ModelDigest, layout: Layout): string {
  const head = ['tensor', 'type', 'shape', 'layout', 'scale', 'bytes', 'sha256'];
  const rows = inFileOrder(file).map((tensor) => [
    tensor.name,
    tensor.type,
    showShape(tensor.shape ?? tensor.dims.toReversed()),
    tensor.layout ?? '-',
    showShape(tensor.scaleShape),
    String(tensor.sizeBytes),
    digest.tensorSha256.get(tensor.name) ?? '',
  ]);
  const verdict =
    digest.matches === undefined ? 'none declared' : digest.matches ? 'as declared' : 'NOT as declared';
  const dataBytes = file.sizeBytes - file.dataOffsetBytes;
  return [
    `${file.path}: GGUF version ${file.version}, ${file.sizeBytes} bytes, ${file.tensors.length} tensors`,
    '',
    table(ownMetadata(file).map(([key, entry]) => [key, showValue(entry)])),
    '',
    table([head, ...rows], ['left', 'left', 'left', 'left', 'left', 'right']),
    '',
    `data: ${dataBytes} bytes, SHA-256 ${digest.dataSha256} (${verdict})`,
    ...layoutText[layout],
  ].join('\n');
}

/** Without the keys that describe one tensor: those are in the table of tensors. */
function ownMetadata(file: ModelFile): [string, MetadataEntry][] {
  return [...file.metadata].filter(([key]) => !/^\w+\.(layout|shape|scale_shape)\./.test(key));
}

function inFileOrder(file: ModelFile): ModelFile['tensors'] {
  return file.tensors.toSorted((a, b) => a.offsetBytes - b.offsetBytes);
}

function machineValue(entry: MetadataEntry): unknown {
  if (entry.value !== undefined) return entry.value;
  return { element_type: entry.elementType, length: entry.length, offset_bytes: entry.offsetBytes };
}

function showValue({ value, elementType, length }: MetadataEntry): string {
  if (value === undefined) return `${elementType ?? '?'}[${length ?? 0}]`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function showShape(shape: readonly number[] | undefined): string {
  return shape === undefined ? '-' : `[${shape.join(', ')}]`;
}
