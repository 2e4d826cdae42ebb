/**
 * What every meter is to the rest of `power/`: it opens, says who it is, pushes samples until it is stopped. All times are
 * nanoseconds of CLOCK_MONOTONIC (`process.hrtime.bigint()`), the clock of the daemon's token events.
 */

/** What is wrong with a sample. Any of the first six makes it unusable: it counts as missing. */
export const sampleFlags = [
  /** Over the range of the meter. */
  'saturated',
  /** The meter said NaN, infinity or "no value". */
  'no-value',
  /** Negative active power on an alternating current meter: the wires are swapped. */
  'negative',
  /** Received, but its checksum is wrong and the profile tolerates that; watts are as sent. */
  'checksum',
  /** Breaks physics: P > 1.05 V I, above the profile's greatest power. */
  'suspect',
  /** The link ended here: port closed, or nothing came for 2.5 update periods. Such a sample has no watts. */
  'lost',
  /** The first sample after the link came back. Usable. */
  'back',
  /** The meter's own energy counter fell since the last sample. Usable; the counter is not. */
  'counter-reset',
] as const;
export type SampleFlag = (typeof sampleFlags)[number];

/** One reading. Values that the meter did not give, or gave as no number, are null; never NaN or infinite. */
export interface Sample {
  /** Arrival of the last byte of the answer. */
  readonly tNs: bigint;
  readonly watts: number | null;
  readonly volts: number | null;
  readonly amps: number | null;
  /** The meter's own energy counter; only differences mean something. */
  readonly joules: number | null;
  readonly flags: readonly SampleFlag[];
}

/** Bytes as they came or went, good or bad, for the raw record. */
export interface Frame {
  readonly tNs: bigint;
  readonly direction: 'received' | 'sent';
  readonly bytes: Uint8Array;
  /** Why it was dropped; absent for a good one, `unchecked` for one whose wrong checksum the address ignores. */
  readonly fault?: 'checksum' | 'unchecked' | 'torn' | 'late' | 'unexpected' | 'exception' | 'noise';
}

export interface MeterSink {
  sample(sample: Sample): void;
  frame?(frame: Frame): void;
}

/** Integration rule (energy-method, 2.3): a meter that reports the mean of its past period, or an instant. */
export type Rule = 'backward-rectangle' | 'trapezoid';

/** What is known of the meter before a single sample came. */
export interface MeterTraits {
  /** Smallest step of the watts, W. */
  readonly resolutionWatts: number;
  /** Accuracy class: greatest error as a share of the reading (0.005 is 0.5 %); null when nobody says. */
  readonly accuracy: number | null;
  /** Nominal time between two new values; what is measured decides. */
  readonly updatePeriodNs: number;
  readonly rule: Rule;
  /** Greatest power that it can show, W; null when unknown. */
  readonly maxWatts: number | null;
  readonly current: 'alternating' | 'direct';
  /** Sends by itself, each sample a new value even if it equals the one before; a polled meter repeats a value until the next. */
  readonly pushes?: boolean;
}

/** Who it is. `simulated` travels with every figure that comes from it. */
export interface MeterIdentity {
  /** `pzem`, `wattsup`, `scpi`, … : the scheme of the address. */
  readonly kind: string;
  /** The profile, where the kind has several: `pzem-004t`, `wt310`. */
  readonly profile: string | null;
  readonly address: string;
  readonly maker: string | null;
  readonly model: string | null;
  readonly serial: string | null;
  readonly firmware: string | null;
  readonly simulated: boolean;
}

/** Counts since `start`, for verdicts and the doctor. */
export interface MeterCounts {
  readonly requests: number;
  readonly frames: number;
  readonly samples: number;
  readonly checksumErrors: number;
  readonly torn: number;
  readonly late: number;
  readonly timeouts: number;
  readonly reconnects: number;
}

/**
 * A meter. `start` opens the port, makes sure that the right kind of meter answers, and resolves with the first good answer; from then on it
 * pushes samples. Lost in mid-run it pushes one `lost` sample and tries to come back, for ever, until `stop`. It never repeats, holds or
 * invents a value.
 *
 * @throws SpikedError ERR_METER_UNREACHABLE the port is absent, forbidden or held; ERR_METER_SILENT nothing answers;
 *   ERR_METER_MISMATCH something else answers
 */
export interface Meter {
  readonly traits: MeterTraits;
  /** Complete after `start`. */
  readonly identity: MeterIdentity;
  readonly counts: MeterCounts;
  start(sink: MeterSink): Promise<void>;
  /** Ends the stream (tells a pushing meter to stop), closes the port. Never throws; may be called at any time, more than once. */
  stop(): Promise<void>;
}
