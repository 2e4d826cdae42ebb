import type { GeneratedStep, HeadMode } from './addon-types.js';

/** Numbers of a row, in the order of GenerateJob::write_row, native/addon/generate_job.cpp. */
const columns = 29;

const modes: readonly HeadMode[] = ['full', 'scan', 'gate', 'certified', 'topk'];

/**
 * The steps that NativeSession.generate hands over. They come as plain numbers: an object made from outside of JavaScript costs more than
 * everything else that a small model's token needs there.
 */
export function generatedSteps(rows: Float64Array, n: number): GeneratedStep[] {
  const steps: GeneratedStep[] = [];
  for (let row = 0; row < n; row++) steps.push(stepAt(rows, row * columns));
  return steps;
}

function stepAt(rows: Float64Array, at: number): GeneratedStep {
  const column = (i: number): number => rows[at + i] ?? NaN;
  const logprob = column(1);
  return {
    id: column(0),
    logprob: Number.isNaN(logprob) ? null : logprob,
    tNs: BigInt(column(2)) * 1_000_000_000n + BigInt(column(3)),
    head: {
      mode: modes[column(4)] ?? 'full',
      triggered: column(5) !== 0,
      proved: column(6) !== 0,
      fellBack: column(7) !== 0,
      gap: column(8),
      rows: column(9),
      survivors: column(10),
      idBefore: column(11),
      projectionNs: column(12),
      priorNs: column(13),
      selectionNs: column(14),
      verificationNs: column(15),
      bytes: column(16),
    },
    stats: {
      position: column(17),
      mixerActive: column(18),
      ffnActive: column(19),
      mixerTotal: column(20),
      ffnTotal: column(21),
      bytesTouched: column(22),
      kvBytesTouched: column(23),
      stateBytes: column(24),
      cachedPositions: column(25),
      batch: column(26),
    },
    draft: column(27) < 0 ? null : { guessed: column(27), right: column(28) },
  };
}
