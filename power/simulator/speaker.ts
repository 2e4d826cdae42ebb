import type { FaultKind } from './faults.js';
import type { Measuring, Reading } from './device.js';

/** What a meter's protocol has at hand. */
export interface Mouth {
  /** What the device shows now; null until its first period is over. */
  read(): Reading | null;
  /** Sends one whole message, `afterMs` from now; faults may touch it. */
  say(message: Uint8Array, afterMs: number): void;
  /** Calls with each new reading, until the line ends or it is called again with null. */
  onUpdate(listener: ((reading: Reading) => void) | null): void;
}

/** Takes the bytes that the other end sends, as they come. */
export type Ear = (bytes: Uint8Array) => void;

/** A kind of meter that can be simulated. */
export interface Kind {
  readonly name: string;
  /** For --help. */
  readonly says: string;
  /** Its speed: on a line with another it hears nothing, and is not heard. */
  readonly baud: number;
  readonly measuring: Measuring;
  /** Faults that it has no way to show. */
  readonly cannot: readonly FaultKind[];
  /** Begins on a new line. */
  speak(mouth: Mouth, baud: number): Ear;
}

/** An alternating current meter of this class of accuracy, before what is its own. */
export const wall: Measuring = {
  periodMs: 1000,
  latencyMs: 0,
  wattsStep: 0.1,
  voltsStep: 0.1,
  ampsStep: 0.001,
  maxWatts: 2300,
  accuracy: 0,
  noiseWatts: 0,
  volts: 230,
  noiseVolts: 0.3,
  powerFactor: 0.55,
};
