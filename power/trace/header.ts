import type { MeterIdentity, MeterTraits } from '../meters/meter.js';

/**
 * A trace is a folder: `trace.json` (this), `samples.csv` (`t_ns,watts,volts,amps,joules,flags`, flags joined by `|`) and `frames.csv`
 * (`t_ns,direction,hex,fault`). Written by appending; `trace.json` is replaced (write, fsync, rename) when it is closed.
 */
export interface TraceHeader {
  readonly format: 'spiked-trace';
  readonly version: 1;
  readonly meter: MeterIdentity;
  readonly traits: MeterTraits;
  /** Three clocks read together, once: the only tie to the wall clock. Null in an import: its times are of the file that it came from. */
  readonly anchor: Clocks | null;
  /** The same when it was closed; absent in a trace that was cut off. */
  readonly end?: Clocks;
  /** Bytes of an import, not of a meter: the file that they came from and how its columns were read. */
  readonly imported?: { readonly file: string; readonly columns: Readonly<Record<string, string>> };
}

/** `boottime_ns` runs on in suspend, `monotonic_ns` does not: their difference must not change within a run. */
export interface Clocks {
  readonly monotonicNs: bigint;
  readonly boottimeNs: bigint;
  /** UTC, `2026-01-02T03:04:05.678Z`. */
  readonly wall: string;
}
