import { SpikedError } from '../../client/protocol/errors.js';
import { readHeaderSync } from '../trace/header-file.js';
import type { TraceHeader } from '../trace/header.js';
import { openTrace } from '../trace/reader.js';
import type { Key, KeyValues } from './keys.js';
import { choice } from './keys.js';
import { meterKind, type Address } from './kind.js';
import type { Meter, MeterCounts, MeterIdentity, MeterSink, MeterTraits, Sample } from './meter.js';
import { SampleStream } from './sample-stream.js';
import { pause } from './timing.js';

/** Update periods behind the last sample at which the replay says that nothing came. */
const silentPeriods = 2.5;

const speed: Key<number> = {
  help: 'times as fast as it was recorded, or max for as fast as it can be read',
  absent: 1,
  expected: 'a number from 0.001 to 100000, or max',
  read(text) {
    if (text === 'max') return Infinity;
    const value = text.trim() === '' ? NaN : Number(text);
    return value >= 0.001 && value <= 100_000 ? value : undefined;
  },
};
const keys = {
  speed,
  time: choice(
    "the times of its samples: as recorded, or from now on, which marks them as simulated: another time's power beside today's tokens",
    'recorded',
    ['recorded', 'now'],
  ),
};

/** `file:FOLDER`: a recorded trace, as if its meter were there. */
export const replay = meterKind(
  { kind: 'file', form: 'file:FOLDER?speed=1', summary: 'a recorded trace, replayed', path: 'folder', keys },
  (address, values) => {
    if (values.time === 'now' && values.speed !== 1)
      throw new SpikedError('ERR_INVALID_ARGUMENT', `${address.text}: time=now goes with speed=1 only`);
    return new Replay(address, values, readHeaderSync(address.path));
  },
);

/** The samples of a trace at their distances, with their flags; at its end one `lost` sample, then nothing. */
class Replay implements Meter {
  readonly traits: MeterTraits;
  readonly #stop = new AbortController();
  readonly #stream: SampleStream;
  #life: Promise<void> = Promise.resolve();

  constructor(
    private readonly address: Address,
    private readonly values: KeyValues<typeof keys>,
    private readonly header: TraceHeader,
  ) {
    this.traits = header.traits;
    this.#stream = new SampleStream(header.traits.updatePeriodNs);
  }

  /** The recorded meter's, at this address. */
  get identity(): MeterIdentity {
    const { meter } = this.header;
    const simulated = meter.simulated || this.values.time === 'now';
    return { ...meter, address: this.address.text, simulated };
  }

  get counts(): MeterCounts {
    return this.#stream.counts;
  }

  /** @throws SpikedError ERR_TRACE_INVALID the trace holds no sample, or its first one is malformed */
  async start(sink: MeterSink): Promise<void> {
    if (!this.#stream.begin(sink))
      throw new SpikedError('ERR_INVALID_ARGUMENT', `${this.address.text}: it is started already`);
    const trace = await openTrace(this.address.path);
    const samples = trace.samples();
    const first = await samples.next();
    if (first.done === true)
      throw new SpikedError('ERR_TRACE_INVALID', `${this.address.path}: the trace holds no sample`);
    this.#life = this.#play(first.value, samples);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#life;
  }

  async #play(first: Sample, rest: AsyncGenerator<Sample>): Promise<void> {
    const { speed, time } = this.values;
    const { signal } = this.#stop;
    const began = process.hrtime.bigint();
    const shift = time === 'now' ? began - first.tNs : 0n;
    let last = first.tNs;
    const reach = async (tNs: bigint): Promise<void> => {
      const dueMs = Number(tNs - first.tNs) / 1e6 / speed;
      const waitMs = dueMs - Number(process.hrtime.bigint() - began) / 1e6;
      if (waitMs > 0) await pause(waitMs, signal);
    };
    const push = async (sample: Sample): Promise<void> => {
      await reach(sample.tNs);
      if (signal.aborted) return;
      last = sample.tNs;
      this.#stream.sample({ ...sample, tNs: sample.tNs + shift });
    };
    try {
      await push(first);
      for await (const sample of rest) {
        if (signal.aborted) return;
        await push(sample);
      }
    } catch (error) {
      // The rest cannot be read: as when a meter goes away.
      if (!(error instanceof SpikedError)) throw error;
    }
    const endNs = last + BigInt(Math.ceil(silentPeriods * this.traits.updatePeriodNs));
    await reach(endNs);
    if (!signal.aborted) this.#stream.lost(endNs + shift);
  }
}
