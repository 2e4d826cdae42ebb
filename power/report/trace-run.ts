import { SpikedError } from '../../client/protocol/errors.js';
import type { MeterIdentity } from '../meters/meter.js';
import { openTrace } from '../trace/reader.js';
import { collectTokens } from '../trace/tokens.js';
import { measureUpdatePeriod, type UpdatePeriod } from '../trace/update-period.js';
import type { WindowFigures } from '../window/figures.js';
import { figuresFrom } from './trace-figures.js';

/** The figures of one run of somebody's own: a trace and a file of token times on the same clock. */
export interface TraceRun {
  readonly format: 'spiked-energy-run';
  readonly version: 1;
  readonly simulated: boolean;
  readonly meter: MeterIdentity;
  readonly resolution_watts: number;
  readonly accuracy: number | null;
  readonly update_period_s: number;
  /** What it was measured from; `profile` when it could not be. */
  readonly update_period_basis: UpdatePeriod['basis'];
  readonly latency_s: number;
  readonly from_ns: string;
  readonly to_ns: string;
  readonly figures: WindowFigures;
}

/**
 * @throws SpikedError ERR_FILE_NOT_FOUND, ERR_TRACE_INVALID with file and line; ERR_INVALID_ARGUMENT a window that ends before it begins
 */
export async function traceRun(
  dir: string,
  tokenFile: string,
  { fromNs, toNs, trimS, latencyS }: { fromNs?: bigint | undefined; toNs?: bigint | undefined; trimS: number; latencyS: number }, // prettier-ignore
): Promise<TraceRun> {
  const trace = await openTrace(dir);
  const tokenNs = await collectTokens(tokenFile);
  const { traits, meter } = trace.header;
  const from = fromNs ?? tokenNs[0] ?? 0n;
  const to = toNs ?? tokenNs.at(-1) ?? from;
  if (to < from)
    throw new SpikedError('ERR_INVALID_ARGUMENT', `window: expected an end after its begin, ${from}, found ${to}`); // prettier-ignore
  const { periodNs: updatePeriodNs, basis } = await measureUpdatePeriod(trace.samples(), traits);
  const latencyNs = latencyS * 1e9;
  const figures = await figuresFrom(trace, { traits, updatePeriodNs, latencyNs, fromNs: from, toNs: to, trimNs: trimS * 1e9, tokenNs, idle: null }); // prettier-ignore
  return {
    format: 'spiked-energy-run',
    version: 1,
    simulated: meter.simulated,
    meter,
    resolution_watts: traits.resolutionWatts,
    accuracy: traits.accuracy,
    update_period_s: updatePeriodNs / 1e9,
    update_period_basis: basis,
    latency_s: latencyS,
    from_ns: String(from),
    to_ns: String(to),
    figures,
  };
}
