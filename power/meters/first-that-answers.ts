import { SpikedError } from '../../client/protocol/errors.js';
import type { Meter, MeterCounts, MeterIdentity, MeterSink, MeterTraits } from './meter.js';

/**
 * One meter that may speak in several ways: each is started in turn until one answers, which is then the meter. When none does, the error
 * is that of the first.
 *
 * @param meters  at least one, alike in their traits
 */
export function firstThatAnswers(meters: readonly Meter[]): Meter {
  const [first, ...others] = meters;
  if (first === undefined) throw new SpikedError('ERR_INTERNAL', 'a meter without a way to speak');
  return others.length === 0 ? first : new FirstThatAnswers([first, ...others], first);
}

class FirstThatAnswers implements Meter {
  #stopped = false;

  constructor(
    private readonly meters: readonly Meter[],
    private current: Meter,
  ) {}

  get traits(): MeterTraits {
    return this.current.traits;
  }

  get identity(): MeterIdentity {
    return this.current.identity;
  }

  get counts(): MeterCounts {
    return this.current.counts;
  }

  async start(sink: MeterSink): Promise<void> {
    let refused: SpikedError | undefined;
    for (const meter of this.meters) {
      this.current = meter;
      try {
        await meter.start(sink);
        return;
      } catch (error) {
        await meter.stop();
        // A port that cannot be opened will not be at another speed either.
        if (!(error instanceof SpikedError) || !/SILENT|MISMATCH/.test(error.code) || this.#stopped)
          throw error;
        refused ??= error;
      }
    }
    if (refused !== undefined) throw refused;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.meters.map((meter) => meter.stop()));
  }
}
