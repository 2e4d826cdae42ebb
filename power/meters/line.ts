import type { Frame, MeterIdentity, MeterTraits, Sample } from './meter.js';
import type { SerialSettings } from './serial-link.js';

/** What a meter says of itself. */
export type Facts = Partial<Pick<MeterIdentity, 'maker' | 'model' | 'serial' | 'firmware'>>;

/** One connection as a protocol sees it: an open port, and where what it says goes. */
export interface Line {
  readonly path: string;
  /** Aborted when the port is lost or silent, or the meter is stopped: `talk` ends then. */
  readonly signal: AbortSignal;
  /** Whether it ended because the meter is stopped: the port still works, for a last word. */
  readonly stopping: boolean;
  /** Who gets the bytes from now on; `tNs` is their arrival. Bytes that nobody asked for yet are dropped. */
  receive(handler: (bytes: Uint8Array, tNs: bigint) => void): void;
  /** Sends a request, counts it and records it. Throws ERR_METER_LOST when the port closed. */
  write(bytes: Uint8Array): Promise<void>;
  /** Drops what the system holds of this port. Throws ERR_METER_LOST when the port closed. */
  flush(): Promise<void>;
  /** A received frame, good or with its fault: recorded and counted. */
  received(frame: Omit<Frame, 'direction'>): void;
  /** A request went without an answer. */
  timeout(): void;
  /** The right meter answers: samples may follow, `start` resolves. Once a connection. */
  ready(facts: Facts): void;
  /** Adds `back` and `counter-reset` where they hold. */
  sample(sample: Sample): void;
}

/** One protocol over one serial port: everything that differs from meter to meter. */
export interface SerialProtocol {
  readonly kind: string;
  readonly profile: string | null;
  readonly settings: SerialSettings;
  readonly traits: MeterTraits;
  /**
   * Makes sure that the right meter answers, says `ready`, and pushes samples until the signal is aborted. A good farewell (end of a stream)
   * goes after that, if `stopping`. What it throws before `ready` is what `start` throws; later it ends the connection, and another begins.
   *
   * @throws SpikedError ERR_METER_SILENT nothing answers; ERR_METER_MISMATCH something else answers
   */
  talk(line: Line): Promise<void>;
}
