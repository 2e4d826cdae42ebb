import type { NativeModel, ReferenceResult, Spikes } from '../../../native/host/index.js';
import { SpikedError } from '../../protocol/errors.js';
import type { GoldenCase, GoldenSequence } from '../golden/case.js';
import type { Values } from '../golden/compare.js';
import { logitError, runReference, type LogitError } from './runs.js';
import { freeSpikes, placeOf, sitesOf, type Place, type Site } from './spikes.js';

/** A recorded run of another program, held to the reference. Its spikes are known by their counts, and by themselves where block outputs are. */
export interface RecordedReport {
  run: 'recorded';
  robust: boolean;
  /** First departure; the neuron is the nearest one whose flip gives the recorded count, unless the block outputs name it. */
  first: (Place & { margin: number; neuron_by: 'count' | 'output' }) | null;
  /** Neurons that the reference must be made to decide otherwise until every recorded count and spike agrees. */
  differing: number;
  /** Largest reference margin among them. */
  largest_margin: number;
  free: LogitError;
  /** The reference with those neurons forced, against the recorded logits. */
  forced: LogitError;
}

/** Forced neurons beyond which a recorded run counts as another computation, not as a few flips. */
const mostFlips = 256;

/** Prompt and fed ids of a sequence; its logits at all of them. */
export function recordedIds(golden: GoldenCase, sequence: GoldenSequence): Int32Array {
  const greedy = values(golden, sequence, 'greedy_ids');
  return Int32Array.from([...values(golden, sequence, 'input_ids'), ...greedy.subarray(0, -1)]);
}

export async function auditRecorded(
  model: NativeModel,
  ids: Int32Array,
  reference: ReferenceResult,
  golden: GoldenCase,
  sequence: GoldenSequence,
): Promise<RecordedReport> {
  const logits = [...values(golden, sequence, 'full_logits'), ...values(golden, sequence, 'decode_logits')];
  const flips: (Place & { margin: number; neuron_by: 'count' | 'output' })[] = [];
  const given = freeSpikes(model.info, ids.length);
  const recorded = recordedSpikes(model, ids.length, golden, sequence);
  let found = reference;
  for (;;) {
    const at = firstDeparture(model, ids.length, found, given, recorded);
    if (at === null || flips.length + at.neurons.length > mostFlips) break;
    const { threshold, offset } = at.site;
    for (const neuron of at.neurons) {
      const margin = Math.abs(found.margins[threshold][offset + neuron] ?? NaN);
      flips.push({ ...placeOf(at.site, neuron), margin, neuron_by: at.by });
      given[threshold][offset + neuron] = found.spikes[threshold][offset + neuron] === 1 ? 0 : 1;
    }
    found = await runReference(model, ids, { given });
  }
  return {
    run: 'recorded',
    robust: sequence.robust,
    first: flips[0] ?? null,
    differing: flips.length,
    largest_margin: flips.reduce((most, { margin }) => Math.max(most, margin), 0),
    free: logitError(logits, reference.logits, model.info.vocabSize),
    forced: logitError(logits, found.logits, model.info.vocabSize),
  };
}

interface Recorded {
  count(site: Site): number;
  /** The spike itself, where the recording tells it. */
  spike(site: Site, neuron: number): boolean | undefined;
}

function recordedSpikes(
  model: NativeModel,
  n: number,
  golden: GoldenCase,
  sequence: GoldenSequence,
): Recorded {
  const { embedDim, threshold } = model.info;
  const counts = {
    encoder: values(golden, sequence, 'act_encoder'),
    ffn: values(golden, sequence, 'act_ffn_hidden'),
    block: values(golden, sequence, 'act_tcam_in').subarray(n),
  };
  const outputs = sequence.get('block_out')?.values;
  return {
    count: (site) => counts[site.threshold][(site.layer ?? 0) * n + site.position] ?? NaN,
    spike: ({ threshold: kind, offset }, neuron) => {
      if (kind !== 'block' || outputs?.length !== model.info.nLayers * n * embedDim) return undefined;
      return (outputs[offset + neuron] ?? NaN) >= threshold;
    },
  };
}

/** The first site at which the reference, given what it was given, does not fire as recorded, and the neurons whose flip makes it. */
function firstDeparture(
  model: NativeModel,
  n: number,
  found: ReferenceResult,
  given: Spikes,
  recorded: Recorded,
): { site: Site; neurons: number[]; by: 'count' | 'output' } | null {
  for (const site of sitesOf(model.info, n)) {
    const fired = (neuron: number) => {
      const asked = given[site.threshold][site.offset + neuron] ?? 2;
      return asked === 2 ? found.spikes[site.threshold][site.offset + neuron] === 1 : asked === 1;
    };
    const neurons = Array.from({ length: site.width }, (_, neuron) => neuron);
    const named = neurons.filter((neuron) => {
      const spike = recorded.spike(site, neuron);
      return spike !== undefined && spike !== fired(neuron);
    });
    if (named.length > 0) return { site, neurons: named, by: 'output' };
    const missing = recorded.count(site) - neurons.filter(fired).length;
    if (missing === 0) continue;
    const margin = (neuron: number) => Math.abs(found.margins[site.threshold][site.offset + neuron] ?? NaN);
    const candidates = neurons.filter((neuron) => fired(neuron) === missing < 0);
    candidates.sort((a, b) => margin(a) - margin(b));
    return { site, neurons: candidates.slice(0, Math.abs(missing)), by: 'count' };
  }
  return null;
}

function values(golden: GoldenCase, sequence: GoldenSequence, name: string): Values {
  const found = sequence.get(name)?.values;
  if (found !== undefined) return found;
  throw new SpikedError(
    'ERR_CHECKPOINT_TENSOR',
    `${golden.file}: tensor "${sequence.tag}.${name}": expected, found none`,
  );
}
