import { join } from 'node:path';
import { z } from 'zod';
import type { ModelInfo } from '../../../native/host/index.js';
import { SpikedError } from '../../protocol/errors.js';
import { readIndex, requireSame, type GoldenSequence } from './case.js';
import { readTensors } from './tensors.js';

const index = z.object({
  case: z.string(),
  config: z.object({
    d: z.number().int(),
    L: z.number().int(),
    ff: z.number().int(),
    nh: z.number().int(),
    nkv: z.number().int(),
    V: z.number().int(),
  }),
  head_dim: z.number().int(),
  sequences: z
    .array(
      z.object({
        tag: z.string(),
        length: z.number().int().positive(),
        robust: z.boolean(),
        robust_leading_positions: z.number().int().min(0),
      }),
    )
    .min(1),
});

export type Contract = 'bitnet' | 'hyphae';

export interface TernarySequence extends GoldenSequence {
  /** How an engine has to keep keys and values. */
  kv: 'f32' | 'f16';
  /** The rules of rounding that have to give this, the recorded one first. */
  contracts: readonly Contract[];
  /** Positions from the start in which no code lies so close to a rounding boundary that a correct program may flip it. */
  robustPositions: number;
  /** Largest absolute error of a logit there. */
  tolerance: number;
  /** The rule without a floor was recorded for the prompt's logits only. */
  promptOnly: boolean;
}

export interface TernaryCase {
  name: string;
  file: string;
  sequences: TernarySequence[];
}

const noFloor = 'full_logits_nofloor';

/**
 * The reference data of a ternary model's case folder. Tags `kv16.*` are of F16 keys and values, and want an engine of their own; what the case
 * recorded without the floor below which rows are not scaled up wants contract `hyphae`.
 *
 * @throws SpikedError ERR_FILE_NOT_FOUND, ERR_FILE_IO; ERR_INVALID_ARGUMENT when the model has other dimensions than the case
 */
export async function readTernaryCase(folder: string, info: ModelInfo): Promise<TernaryCase> {
  const found = await readIndex(join(folder, 'index.json'), index);
  const { config } = found;
  requireSame(folder, info, [
    ['V', config.V, info.vocabSize],
    ['d', config.d, info.embedDim],
    ['L', config.L, info.nLayers],
    ['nh', config.nh, info.nHeads],
    ['nkv', config.nkv, info.nKvHeads],
    ['head_dim', found.head_dim, info.headDim],
    ['ff', config.ff, info.ffnDim],
  ]);
  const file = join(folder, 'expected.safetensors');
  const tensors = await readTensors(file);
  const sequences = found.sequences.flatMap((entry): TernarySequence[] => {
    const kv16 = entry.tag.startsWith('kv16.');
    const own: TernarySequence = {
      tag: entry.tag,
      length: entry.length,
      robust: entry.robust,
      robustPositions: entry.robust_leading_positions,
      tolerance: kv16 || found.case.startsWith('d_') ? 1e-3 : 1e-4,
      kv: kv16 ? 'f16' : 'f32',
      contracts: ['bitnet', 'hyphae'],
      promptOnly: false,
      get: (name) => tensors.get(`${entry.tag}.${name}`),
    };
    const without = tensors.get(`${entry.tag}.${noFloor}`);
    if (without === undefined) return [own];
    // Rows below the floor, the one thing in which the rules differ on these models.
    const get = (name: string) =>
      name === 'full_logits' ? without : name === 'input_ids' ? own.get(name) : undefined;
    return [
      { ...own, contracts: ['bitnet'] },
      { ...own, tag: `${entry.tag} (no floor)`, contracts: ['hyphae'], promptOnly: true, get },
    ];
  });
  if (sequences.some((sequence) => sequence.get('input_ids') === undefined))
    throw new SpikedError(
      'ERR_CHECKPOINT_TENSOR',
      `${file}: expected tensor "TAG.input_ids" of every sequence of index.json, found some without`,
    );
  return { name: found.case, file, sequences };
}
