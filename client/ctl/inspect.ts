import { Command } from 'commander';
import { SpikedError } from '../protocol/errors.js';
import { readDigests, type Digests } from './inspect/digest.js';
import { declaredDigest, readManifest, type Manifest } from './inspect/manifest.js';
import { printJson, printLine, table } from './output.js';

interface InspectOptions {
  json?: true;
  verify?: true;
}

export function inspectCommand(): Command {
  return new Command('inspect')
    .description('show what a model file holds: configuration, tensors, SHA-256 of their data')
    .argument('<model>', 'model file (GGUF)')
    .option(
      '--verify',
      'compare the digest of the data with the one the file declares (exit 3 when they differ)',
    )
    .option('--json', 'one JSON object')
    .action(inspect);
}

async function inspect(path: string, options: InspectOptions): Promise<void> {
  const manifest = await readManifest(path);
  const declared = options.verify ? declaredDigest(manifest) : manifest.declared_sha256;
  const digests = await readDigests(manifest);
  const verified = options.verify ? digests.data === declared : null;
  if (options.json) await printJson(toMachine(manifest, digests, verified));
  else await printLine(toPeople(manifest, digests, verified));
  if (verified === false)
    throw new SpikedError(
      'ERR_CHECK_FAILED',
      `${path}: data section: expected SHA-256 ${declared} as declared, found ${digests.data}`,
    );
}

function toMachine(manifest: Manifest, digests: Digests, verified: boolean | null): object {
  const { tensors, ...rest } = manifest;
  return {
    ...rest,
    data_sha256: digests.data,
    verified,
    tensors: tensors.map((tensor, i) => ({ ...tensor, sha256: digests.tensors[i] })),
  };
}

function toPeople(manifest: Manifest, digests: Digests, verified: boolean | null): string {
  const metadata = Object.entries(manifest.metadata).map(([key, value]) => [key, showValue(value)]);
  const head = ['tensor', 'type', 'shape', 'layout', 'scale', 'bytes', 'sha256'];
  const rows = manifest.tensors.map((tensor, i) => [
    tensor.name,
    tensor.type,
    showShape(tensor.shape ?? tensor.dims.toReversed()),
    tensor.layout ?? '-',
    showShape(tensor.scale_shape),
    String(tensor.size_bytes),
    digests.tensors[i] ?? '',
  ]);
  const verdict =
    verified === null ? 'not compared; --verify does' : verified ? 'as declared' : 'NOT as declared';
  return [
    `${manifest.file}: GGUF version ${manifest.gguf_version}, ${manifest.size_bytes} bytes, ${manifest.tensors.length} tensors`,
    '',
    table(metadata),
    '',
    table([head, ...rows], ['left', 'left', 'left', 'left', 'left', 'right']),
    '',
    `data section: ${manifest.data_bytes} bytes, SHA-256 ${digests.data} (${verdict})`,
  ].join('\n');
}

function showShape(shape: number[] | null): string {
  return shape === null ? '-' : `[${shape.join(', ')}]`;
}

function showValue(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'element_type' in value && 'length' in value)
    return `${String(value.element_type)}[${String(value.length)}]`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
