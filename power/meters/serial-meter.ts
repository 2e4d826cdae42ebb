import { SpikedError } from '../../client/protocol/errors.js';
import type { Facts, Line, SerialProtocol } from './line.js';
import type { Meter, MeterCounts, MeterIdentity, MeterSink, MeterTraits } from './meter.js';
import { SampleStream } from './sample-stream.js';
import { isPseudoTerminal, SerialLink } from './serial-link.js';
import { aborted, pause } from './timing.js';

/** Silence after which the port itself is opened anew: an adapter may hang without closing. */
const reopenPeriods = 10;
const reopenLeastMs = 5_000;
/** Between attempts to open a lost port. */
const backOffMs = { first: 250, most: 5_000 };
/** For a last word, and for the end of what was under way. */
const farewellMs = 2_000;

/** A meter on a serial port: the protocol talks; this opens the port, watches it, tells of a loss, and comes back. */
export class SerialMeter implements Meter {
  readonly #stop = new AbortController();
  readonly #stream: SampleStream;
  #facts: Facts = {};
  #simulated: boolean;
  #life: Promise<void> = Promise.resolve();

  constructor(
    private readonly protocol: SerialProtocol,
    private readonly address: string,
    private readonly path: string,
  ) {
    this.#stream = new SampleStream(protocol.traits.updatePeriodNs);
    this.#simulated = isPseudoTerminal(path);
  }

  get traits(): MeterTraits {
    return this.protocol.traits;
  }

  get identity(): MeterIdentity {
    const { maker = null, model = null, serial = null, firmware = null } = this.#facts;
    const { kind, profile } = this.protocol;
    const simulated = this.#simulated;
    return { kind, profile, address: this.address, maker, model, serial, firmware, simulated };
  }

  get counts(): MeterCounts {
    return this.#stream.counts;
  }

  start(sink: MeterSink): Promise<void> {
    if (this.#stop.signal.aborted) return Promise.reject(this.#cancelled());
    if (!this.#stream.begin(sink))
      return Promise.reject(
        new SpikedError('ERR_INVALID_ARGUMENT', `${this.address}: it is started already`),
      );
    return new Promise((resolve, reject) => {
      this.#life = this.#live(resolve, reject);
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#life;
  }

  /** One connection after another. `started` at the first good answer, `failed` when there is none. */
  async #live(started: () => void, failed: (error: unknown) => void): Promise<void> {
    const stop = this.#stop.signal;
    const seen = { answers: false, waitMs: backOffMs.first };
    const ready = (): void => {
      if (seen.answers) this.#stream.add('reconnects');
      seen.answers = true;
      seen.waitMs = backOffMs.first;
      started();
    };
    for (;;) {
      const error = await this.#connection(ready).catch((thrown: unknown) => thrown);
      if (!seen.answers && !stop.aborted) {
        failed(error ?? this.#closed());
        return;
      }
      if (stop.aborted) break;
      this.#stream.lost();
      await pause(seen.waitMs, stop);
      seen.waitMs = Math.min(2 * seen.waitMs, backOffMs.most);
    }
    // Without effect when it had started.
    failed(this.#cancelled());
  }

  /** From the open port to its end. */
  async #connection(ready: () => void): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const end = new AbortController();
    const abort = (): void => end.abort();
    let receiver: (bytes: Uint8Array, tNs: bigint) => void = () => undefined;
    const link = await SerialLink.open(this.path, this.protocol.settings, {
      data: (bytes, tNs) => receiver(bytes, tNs),
      lost: abort,
    });
    const stop = this.#stop.signal;
    if (stop.aborted) abort();
    stop.addEventListener('abort', abort);
    this.#simulated ||= isPseudoTerminal(this.path);

    const stream = this.#stream;
    let watch: NodeJS.Timeout | undefined;
    let over = false;
    const line: Line = {
      path: this.path,
      signal: end.signal,
      get stopping() {
        return stop.aborted;
      },
      receive: (handler) => void (receiver = handler),
      write: async (bytes) => {
        stream.add('requests');
        stream.frame({ tNs: process.hrtime.bigint(), direction: 'sent', bytes });
        await link.write(bytes);
      },
      flush: () => link.flush(),
      received: (frame) => stream.frame({ ...frame, direction: 'received' }),
      timeout: () => stream.add('timeouts'),
      ready: (facts) => {
        if (over) return;
        this.#facts = facts;
        stream.alive();
        watch ??= this.#watch(abort);
        ready();
      },
      sample: (sample) => {
        if (!end.signal.aborted) stream.sample(sample);
      },
    };
    const last = new AbortController();
    try {
      const grace = aborted(end.signal).then(() => pause(farewellMs, last.signal));
      await Promise.race([this.protocol.talk(line), grace]);
    } finally {
      over = true;
      clearInterval(watch);
      stop.removeEventListener('abort', abort);
      abort();
      last.abort();
      await link.close();
    }
  }

  /** Says `lost` when nothing comes, and gives the port up when that lasts. */
  #watch(giveUp: () => void): NodeJS.Timeout {
    const reopenNs = Math.max(reopenPeriods * this.traits.updatePeriodNs, reopenLeastMs * 1e6);
    return setInterval(() => {
      if (this.#stream.watch() > reopenNs) giveUp();
    }, this.#stream.watchMs);
  }

  #closed(): SpikedError {
    return new SpikedError('ERR_METER_LOST', `${this.path}: the port closed before the meter answered`);
  }

  #cancelled(): SpikedError {
    return new SpikedError('ERR_CANCELLED', `${this.address}: stopped before the meter answered`);
  }
}
