import type { HeadSettings, HeadStep, NativeModel, NativeSession } from '../../../native/host/index.js';
import { useSession } from '../engine.js';
import type { StateClass } from './hidden-states.js';

export interface Spread {
  median: number;
  p90: number;
  max: number;
}

/** A head beside the full one over the same hidden states. */
export interface HeadComparison {
  name: string;
  steps: number;
  /** Ids that are not the full head's. */
  differences: number;
  proved: number;
  fell_back: number;
  triggered: number;
  survivors: Spread;
  rows_mean: number;
  /** Least bytes read a step. */
  bytes_mean: number;
  full_bytes_mean: number;
  /** A step's parts together. */
  ns: Spread;
  full_ns: Spread;
}

const chunk = 1024;
/** Ids that count as seen where a penalty is on. */
const history = 64;

export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { median: at(0.5), p90: at(0.9), max: at(1) };
}

const stepNs = (step: HeadStep) => step.projectionNs + step.priorNs + step.selectionNs + step.verificationNs;
const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / (values.length || 1);

/**
 * Asks `head` and the full head about the same states; both draw from a generator of the same seed, so drawn ids must agree too.
 * The two take turns chunk by chunk, so that both meet the same noise of the machine.
 */
export async function compareHeads(
  model: NativeModel,
  states: StateClass,
  head: HeadSettings,
): Promise<HeadComparison> {
  const { embedDim } = model.info;
  const found: HeadStep[] = [];
  const full: HeadStep[] = [];
  let differences = 0;
  await useSession(model, (one) =>
    useSession(model, async (other) => {
      for (const session of [one, other]) await prepare(session, model, states);
      for (let at = 0; at < states.hidden.length; at += chunk * embedDim) {
        const part = states.hidden.subarray(at, at + chunk * embedDim);
        const expected = await one.choose(part, states.sampling, { mode: 'full' });
        const chosen = await other.choose(part, states.sampling, head);
        chosen.ids.forEach((id, i) => (differences += Number(id !== expected.ids[i])));
        full.push(...expected.steps);
        found.push(...chosen.steps);
      }
    }),
  );
  const count = (test: (step: HeadStep) => boolean) => found.filter(test).length;
  return {
    name: states.name,
    steps: found.length,
    differences,
    proved: count((step) => step.proved && !step.fellBack),
    fell_back: count((step) => step.fellBack),
    triggered: count((step) => step.triggered),
    survivors: spread(found.map((step) => step.survivors)),
    rows_mean: mean(found.map((step) => step.rows)),
    bytes_mean: mean(found.map((step) => step.bytes)),
    full_bytes_mean: mean(full.map((step) => step.bytes)),
    ns: spread(found.map(stepNs)),
    full_ns: spread(full.map(stepNs)),
  };
}

async function prepare(session: NativeSession, model: NativeModel, { sampling }: StateClass): Promise<void> {
  session.seed(1n);
  if (sampling.repetitionPenalty === 1) return;
  const seen = Int32Array.from({ length: history }, (_, i) => (i * 31 + 7) % model.info.validVocabSize);
  await session.forward(seen, { logits: 'none' });
}
