import type { Sample } from '../meters/meter.js';
import type { Trace } from '../trace/reader.js';
import type { PowerFigures, PowerSpec, WindowFigures, WindowSpec } from '../window/figures.js';
import { openPower } from '../window/open-power.js';
import { openWindow } from '../window/run-figures.js';

type WithoutErrors<Spec extends PowerSpec> = Omit<Spec, 'checksumErrors'>;

/** The figures of a run's window of a trace, which is read as a stream from just before it to just behind it. */
export async function figuresFrom(trace: Trace, spec: WithoutErrors<WindowSpec>): Promise<WindowFigures> {
  const window = openWindow({ ...spec, checksumErrors: await checksumErrors(trace, spec) });
  return pushAll(window, trace, spec);
}

/** The same of a window without tokens. */
export async function powerFrom(trace: Trace, spec: WithoutErrors<PowerSpec>): Promise<PowerFigures> {
  const window = openPower({ ...spec, checksumErrors: await checksumErrors(trace, spec) });
  return pushAll(window, trace, spec);
}

/** Update periods on both sides of a window whose samples belong to it: one that is further away is beyond a gap. */
const margin = 4;

async function pushAll<Figures>(
  window: { push(sample: Sample): void; finish(): Figures },
  trace: Trace,
  { fromNs, toNs, updatePeriodNs, latencyNs }: WithoutErrors<PowerSpec>,
): Promise<Figures> {
  const edge = BigInt(Math.ceil(margin * updatePeriodNs + latencyNs));
  for await (const sample of trace.samples(fromNs > edge ? fromNs - edge : 0n, toNs + edge))
    window.push(sample);
  return window.finish();
}

/** Frames of the window that a driver dropped for their checksum. */
async function checksumErrors(trace: Trace, { fromNs, toNs }: WithoutErrors<PowerSpec>): Promise<number> {
  let count = 0;
  for await (const { fault } of trace.frames(fromNs, toNs)) if (fault === 'checksum') count++;
  return count;
}
