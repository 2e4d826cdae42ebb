import type { Activations, ModelInfo, NativeModel, ReferenceResult } from '../../../native/host/index.js';
import { SpikedError } from '../../protocol/errors.js';
import { useModel, type PlaceOptions } from '../engine.js';
import { readCase } from '../golden/case.js';
import { auditRecorded, recordedIds, type RecordedReport } from './golden.js';
import { auditInput } from './inputs.js';
import { auditEngine, flipNearest, runReference, type FlipReport, type RunReport } from './runs.js';
import { nearest, type Place } from './spikes.js';

export interface AuditOptions extends PlaceOptions {
  /** Engines to audit; default: all that the weights can run. */
  activations?: Activations[];
  ids?: string;
  text?: string;
  golden?: string;
  /** Another weight file of the same shape, run with f32 activations. */
  against?: string;
  /** Neurons to flip one at a time, the nearest to their thresholds first. */
  flips: number;
}

export interface AuditReport {
  input: string;
  positions: number;
  /** As the recording is marked; null for other ids. */
  robust: boolean | null;
  nearest: Place & { margin: number };
  runs: RunReport[];
  recorded: RecordedReport | null;
  flips: FlipReport[];
}

interface Subject {
  name: string;
  ids: Int32Array;
  robust: boolean | null;
  recorded: ((reference: ReferenceResult) => Promise<RecordedReport>) | null;
}

/** Holds every way to compute a model to the float64 reference: where spikes depart, what that does to logits, what is left without. */
export function audit(path: string, options: AuditOptions): Promise<AuditReport[]> {
  return useModel(path, placeOf(options), async (model) => {
    const reports: AuditReport[] = [];
    for (const subject of await subjectsOf(path, model, options))
      reports.push(await auditSubject(path, model, subject, options));
    return reports;
  });
}

/** Without `activations`, which is a list here. */
function placeOf({ activations: _, ...place }: AuditOptions): PlaceOptions {
  return place;
}

async function subjectsOf(path: string, model: NativeModel, options: AuditOptions): Promise<Subject[]> {
  if (options.golden === undefined) {
    const { name, ids } = await auditInput(path, options);
    return [{ name, ids, robust: null, recorded: null }];
  }
  const golden = await readCase(options.golden, model.info);
  return golden.sequences.map((sequence) => {
    const ids = recordedIds(golden, sequence);
    return {
      name: `${golden.name} ${sequence.tag}`,
      ids,
      robust: sequence.robust,
      recorded: (reference) => auditRecorded(model, ids, reference, golden, sequence),
    };
  });
}

async function auditSubject(
  path: string,
  model: NativeModel,
  { name, ids, robust, recorded }: Subject,
  options: AuditOptions,
): Promise<AuditReport> {
  const reference = await runReference(model, ids);
  const runs: RunReport[] = [];
  for (const activations of options.activations ?? enginesOf(model.info))
    runs.push(
      await useModel(path, { ...placeOf(options), activations }, (engine) =>
        auditEngine(activations, engine, ids, reference, { model, activations }),
      ),
    );
  const { against } = options;
  if (against !== undefined)
    runs.push(
      await useModel(against, placeOf(options), (other) => {
        requireSameShape(against, other.info, model.info);
        return auditEngine(`${other.info.weights} weights`, other, ids, reference, null);
      }),
    );
  const [near] = nearest(reference, model.info, ids.length, 1);
  if (near === undefined) throw new Error('expected at least one threshold, found none');
  const { at: _, ...place } = near;
  return {
    input: name,
    positions: ids.length,
    robust,
    nearest: place,
    runs,
    recorded: recorded === null ? null : await recorded(reference),
    flips: await flipNearest(model, ids, reference, options.flips),
  };
}

function enginesOf(info: ModelInfo): Activations[] {
  return info.weights === 'f32' ? ['f32'] : ['f32', 'i16', 'i8'];
}

function requireSameShape(path: string, found: ModelInfo, expected: ModelInfo): void {
  for (const key of [
    'vocabSize',
    'embedDim',
    'nLayers',
    'nHeads',
    'ffnDim',
    'window',
    'nAnchors',
    'threshold',
  ] as const)
    // prettier-ignore
    if (found[key] !== expected[key])
      throw new SpikedError(
        'ERR_INVALID_ARGUMENT',
        `${path}: ${key}: expected ${expected[key]} as in the audited model, found ${found[key]}`,
      );
}
