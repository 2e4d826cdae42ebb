import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import type { ModelInfo } from '../../../native/host/index.js';
import { SpikedError } from '../../protocol/errors.js';
import { readTensors, type GoldenTensor } from './tensors.js';

const sequence = z.object({ tag: z.string(), length: z.number().int().positive(), robust: z.boolean() });

const index = z.object({
  case: z.string(),
  config: z.object({
    vocab_size: z.number().int(),
    embed_dim: z.number().int(),
    n_layers: z.number().int(),
    n_heads: z.number().int(),
    head_dim: z.number().int(),
    intermediate_dim: z.number().int(),
    sparse_attn_window: z.number().int(),
    n_global_anchors: z.number().int(),
  }),
  sequences: z.array(sequence),
  int8_sequences: z.array(sequence).optional(),
});

type CaseIndex = z.infer<typeof index>;

export interface GoldenSequence {
  tag: string;
  /** Ids of the prompt. */
  length: number;
  /** No neuron so close to its threshold that a correct program may flip it. */
  robust: boolean;
  /** The reference's tensor `TAG.name`. */
  get(name: string): GoldenTensor | undefined;
}

export interface GoldenCase {
  name: string;
  file: string;
  sequences: GoldenSequence[];
}

/**
 * The reference data in a case folder for a model with these weights: `expected.safetensors` for f32,
 * `int8_expected.safetensors` for int8.
 *
 * @throws SpikedError ERR_FILE_NOT_FOUND when the folder or that file is absent
 * @throws SpikedError ERR_INVALID_ARGUMENT when the model has other dimensions than the case, or int4mix weights
 */
export async function readCase(folder: string, info: ModelInfo): Promise<GoldenCase> {
  const found = await readIndex(join(folder, 'index.json'), index);
  requireSameShape(folder, found, info);
  if (info.weights === 'int4mix')
    throw new SpikedError(
      'ERR_INVALID_ARGUMENT',
      `model "${info.name}": expected f32 or int8 weights, for which there is reference data, found int4mix`,
    );
  const int8 = info.weights === 'int8';
  const file = join(folder, int8 ? 'int8_expected.safetensors' : 'expected.safetensors');
  const listed = int8 ? found.int8_sequences : found.sequences;
  if (listed === undefined || (await stat(file).catch(() => null)) === null)
    throw new SpikedError(
      'ERR_FILE_NOT_FOUND',
      `${file}: expected reference data for ${info.weights} weights, found none`,
    );
  const tensors = await readTensors(file);
  return {
    name: found.case,
    file,
    sequences: listed.map((entry) => ({ ...entry, get: (name) => tensors.get(`${entry.tag}.${name}`) })),
  };
}

/** @throws SpikedError ERR_INVALID_ARGUMENT naming the key, when a case's index is not of this form */
export async function readIndex<T>(path: string, form: z.ZodType<T>): Promise<T> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new SpikedError('ERR_INVALID_ARGUMENT', `${path}: expected JSON, found ${error.message}`);
    throw error;
  }
  const parsed = form.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new SpikedError(
    'ERR_INVALID_ARGUMENT',
    `${path}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'unexpected form'}`,
  );
}

function requireSameShape(folder: string, { config }: CaseIndex, info: ModelInfo): void {
  requireSame(folder, info, [
    ['vocab_size', config.vocab_size, info.vocabSize],
    ['embed_dim', config.embed_dim, info.embedDim],
    ['n_layers', config.n_layers, info.nLayers],
    ['n_heads', config.n_heads, info.nHeads],
    ['head_dim', config.head_dim, info.headDim],
    ['intermediate_dim', config.intermediate_dim, info.ffnDim],
    // The 0.8b code never lets the window be empty.
    [
      'sparse_attn_window',
      info.form === '0.8b' ? Math.max(1, config.sparse_attn_window) : config.sparse_attn_window,
      info.window,
    ],
    ['n_global_anchors', config.n_global_anchors, info.nAnchors],
  ]);
}

/** @throws SpikedError ERR_INVALID_ARGUMENT for the first of [key, expected, found] that differs */
export function requireSame(
  folder: string,
  info: ModelInfo,
  pairs: readonly (readonly [string, number, number])[],
): void {
  for (const [key, expected, found] of pairs)
    if (expected !== found)
      throw new SpikedError(
        'ERR_INVALID_ARGUMENT',
        `model "${info.name}" was not exported from case ${basename(folder)}: ${key}: expected ${expected}, found ${found}`,
      );
}
