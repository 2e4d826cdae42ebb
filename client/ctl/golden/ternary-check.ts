import type { ModelInfo } from '../../../native/host/index.js';
import { SpikedError } from '../../protocol/errors.js';
import { useModel, type EngineOptions } from '../engine.js';
import { readTernaryCase } from './ternary-case.js';
import { checkTernary, type TernaryReport } from './ternary-sequence.js';

/**
 * Holds a ternary model to its case, each sequence on an engine as it wants it; where the options name `kv` or `contract`, the sequences
 * that fit them.
 *
 * @throws SpikedError ERR_INVALID_ARGUMENT when the case has no sequence for these options, and what readTernaryCase throws
 */
export async function checkTernaryCase(
  path: string,
  options: EngineOptions,
  folder: string,
  info: ModelInfo,
): Promise<TernaryReport[]> {
  const golden = await readTernaryCase(folder, info);
  const chosen = golden.sequences.flatMap((sequence) => {
    const contract = options.contract ?? sequence.contracts[0] ?? 'bitnet';
    const fits = sequence.kv === (options.kv ?? sequence.kv) && sequence.contracts.includes(contract);
    return fits ? [{ sequence, contract }] : [];
  });
  if (chosen.length === 0)
    throw new SpikedError(
      'ERR_INVALID_ARGUMENT',
      `${golden.file}: expected a sequence for kv ${options.kv ?? 'f32'} and contract ${options.contract ?? 'bitnet'}, found none`,
    );
  const reports: TernaryReport[] = [];
  for (const kv of ['f32', 'f16'] as const)
    for (const contract of ['bitnet', 'hyphae'] as const) {
      const own = chosen.filter((entry) => entry.sequence.kv === kv && entry.contract === contract);
      if (own.length === 0) continue;
      await useModel(path, { ...options, kv, contract }, async (model) => {
        for (const { sequence } of own) reports.push(await checkTernary(model, golden, sequence, contract));
      });
    }
  return reports;
}
