import type {
  Activations,
  NativeModel,
  NativeSession,
  ReferenceOptions,
  ReferenceResult,
  Spikes,
} from '../../../native/host/index.js';
import { useSession } from '../engine.js';
import { departuresOf, freeSpikes, nearest, type Departures, type Near } from './spikes.js';

/** Largest error of a logit that rounding alone may cause when every spike is the reference's. */
export const bound = 1e-4;

export interface LogitError {
  max_abs: number;
  mean_abs: number;
  /** The largest mean of one position. */
  worst_mean_abs: number;
}

/** One way to compute the ids, held to the reference. */
export interface RunReport extends Departures {
  run: string;
  /** Everything on its own. */
  free: LogitError;
  /** With the reference's spikes forced, against the reference. */
  forced: LogitError;
  /** Thresholds that would have decided otherwise although every spike before them was the reference's. */
  decided_otherwise: number;
  /** Forced as well, against a reference that takes the same quantised activations and spikes; rounding is all that is left. */
  same_inputs: LogitError | null;
  /**
   * The largest margin of a threshold that decides otherwise than that reference, which shows what a forced spike hides: a wrong
   * product before a threshold. Null where no bound is asked.
   */
  widest_otherwise: number | null;
  /** Whether error and margin stay within `bound`; null where no bound is asked. */
  within_bound: boolean | null;
}

/** The logits' error over the positions from `from` on; a NaN counts as infinite. */
export function logitError(
  found: ArrayLike<number>,
  expected: ArrayLike<number>,
  width: number,
  from = 0,
): LogitError {
  const result: LogitError = { max_abs: 0, mean_abs: 0, worst_mean_abs: 0 };
  const rows = expected.length / width - from;
  for (let begin = from * width; begin < expected.length; begin += width) {
    let sum = 0;
    for (let i = begin; i < begin + width; i++) {
      const distance = Math.abs((found[i] ?? NaN) - (expected[i] ?? NaN));
      const counted = Number.isNaN(distance) ? Infinity : distance;
      result.max_abs = Math.max(result.max_abs, counted);
      sum += counted;
    }
    result.mean_abs += sum / width / rows;
    result.worst_mean_abs = Math.max(result.worst_mean_abs, sum / width);
  }
  return result;
}

export function runReference(
  model: NativeModel,
  ids: Int32Array,
  options: ReferenceOptions = {},
): Promise<ReferenceResult> {
  return useSession(model, (session) => session.reference(ids, options));
}

/** What an engine's pass computed: never null, unlike the results it comes from. */
interface EnginePass {
  logits: Float32Array;
  spikes: Spikes;
  denseInputs: Float32Array;
}

async function enginePass(session: NativeSession, ids: Int32Array, given?: Spikes): Promise<EnginePass> {
  const trace = { blockOut: false, spikes: true, denseInputs: true };
  const { logits, trace: seen } = await session.forward(ids, { logits: 'all', trace, given });
  if (logits === null || !seen?.spikes || !seen.denseInputs)
    throw new Error('forward: expected logits, spikes and dense inputs, found none');
  return { logits, spikes: seen.spikes, denseInputs: seen.denseInputs };
}

/**
 * Runs ids through the engine freely and with the reference's spikes.
 *
 * @param engine  the model in the engine that is audited
 * @param own  the reference's model when it is the same file: its exact products then bound the error, `activations` being the engine's
 */
export async function auditEngine(
  run: string,
  engine: NativeModel,
  ids: Int32Array,
  reference: ReferenceResult,
  own: { model: NativeModel; activations: Activations } | null,
): Promise<RunReport> {
  const width = engine.info.vocabSize;
  const free = await useSession(engine, (session) => enginePass(session, ids));
  const forced = await useSession(engine, (session) => enginePass(session, ids, reference.spikes));
  const error = logitError(forced.logits, reference.logits, width);
  const report: RunReport = {
    run,
    ...departuresOf(free.spikes, reference, engine.info, ids.length),
    free: logitError(free.logits, reference.logits, width),
    forced: error,
    decided_otherwise: departuresOf(forced.spikes, reference, engine.info, ids.length).differing,
    same_inputs: null,
    widest_otherwise: null,
    within_bound: null,
  };
  if (own === null) return report;
  let exact = reference;
  if (own.activations !== 'f32') {
    const { denseInputs } = forced;
    exact = await runReference(own.model, ids, {
      given: reference.spikes, activations: own.activations, denseInputs,
    }); // prettier-ignore
    report.same_inputs = logitError(forced.logits, exact.logits, width);
  }
  report.widest_otherwise = departuresOf(forced.spikes, exact, engine.info, ids.length).widest;
  report.within_bound = Math.max((report.same_inputs ?? error).max_abs, report.widest_otherwise) <= bound;
  return report;
}

/** What one spike does: a neuron forced the other way, everything after it free. */
export interface FlipReport extends Omit<Near, 'at'> {
  /** Spikes that differ then, the forced one included. */
  differing: number;
  /** Over the positions from the flip on. */
  error: LogitError;
}

/** Flips the `count` neurons nearest to their thresholds, one at a time, in the reference. */
export async function flipNearest(
  model: NativeModel,
  ids: Int32Array,
  reference: ReferenceResult,
  count: number,
): Promise<FlipReport[]> {
  const reports: FlipReport[] = [];
  for (const { at, ...near } of nearest(reference, model.info, ids.length, count)) {
    const given = freeSpikes(model.info, ids.length);
    const flipped = reference.spikes[near.threshold][at] === 1 ? 0 : 1;
    given[near.threshold][at] = flipped;
    const result = await runReference(model, ids, { given });
    result.spikes[near.threshold][at] = flipped;
    reports.push({
      ...near,
      differing: departuresOf(result.spikes, reference, model.info, ids.length).differing,
      error: logitError(result.logits, reference.logits, model.info.vocabSize, near.position),
    });
  }
  return reports;
}
