import type { SpikedError } from '../../client/protocol/errors.js';
import type { Frame, Meter, Sample } from '../meters/meter.js';
import { readClocks } from './clocks.js';
import { Tally } from './tally.js';
import { createTrace, type TraceOptions, type TraceWriter } from './writer.js';

export interface Recording {
  readonly trace: TraceWriter;
  /** Of what came so far. */
  readonly tally: Tally;
  /** Resolves with the reason when the trace can no longer be written; never rejects. */
  readonly failed: Promise<SpikedError>;
  /**
   * Stops the meter, then closes the trace.
   *
   * @throws SpikedError ERR_FILE_IO a write failed; the meter is stopped and what was written is kept all the same
   */
  stop(): Promise<void>;
}

/**
 * Starts a meter and records it into a folder from its first answer on. When it does not start, nothing is left of the trace.
 *
 * @throws SpikedError what `createTrace` and `Meter.start` throw
 */
export async function startRecording(
  meter: Meter,
  dir: string,
  options: TraceOptions = {},
): Promise<Recording> {
  let tell: (error: SpikedError) => void;
  const failed = new Promise<SpikedError>((resolve) => (tell = resolve));
  const trace = await createTrace(
    dir,
    {
      format: 'spiked-trace',
      version: 1,
      meter: meter.identity,
      traits: meter.traits,
      anchor: readClocks(),
    },
    {
      ...options,
      onFailure: (error) => {
        tell(error);
        options.onFailure?.(error);
      },
    },
  );
  const tally = new Tally(meter.traits);
  try {
    await meter.start({
      sample: (sample: Sample) => {
        trace.sample(sample);
        tally.add(sample);
      },
      frame: (frame: Frame) => {
        trace.frame(frame);
      },
    });
    // Who it is, is known from its answer only.
    await trace.describe({ meter: meter.identity, traits: meter.traits });
  } catch (error) {
    await meter.stop();
    await trace.discard();
    throw error;
  }
  return {
    trace,
    tally,
    failed,
    stop: async () => {
      await meter.stop();
      await trace.close();
    },
  };
}
