/**
 * A simulated meter for tests, on a real pseudo-terminal: in this process, so that it starts at once.
 *
 *     const meter = simulated('pzem', { watts: 10.3, measuring: { periodMs: 50 } });
 *     ... open(`pzem:${meter.path}`) ...
 *     meter.stop();
 */
import { join } from 'node:path';
import { openPty } from '../../../client/ctl/meter/pty.js';
import {
  constantPower,
  kindNamed,
  parseFault,
  simulate,
  steppedPower,
  type Measuring,
  type PowerSource,
  type Step,
} from '../../../power/simulator/index.js';
import { tempDir } from '../../tools/suite.js';

export interface SimulatedOptions {
  /** Constant power, power in steps, or any source; 10 W without any. */
  watts?: number;
  steps?: readonly Step[];
  source?: PowerSource;
  /** What differs from the kind's own: `{ periodMs: 50 }`. */
  measuring?: Partial<Measuring>;
  baud?: number;
  /** As on the command line: `late:after=3,ms=900`. */
  faults?: readonly string[];
  seed?: number;
}

export interface Simulated {
  /** A symbolic link to the port, which outlives a hang-up. */
  readonly path: string;
  /** CLOCK_MONOTONIC at second 0 of the power. */
  readonly startNs: bigint;
  /** Ports so far: 1, and one more for each return from a hang-up. */
  readonly opened: () => number;
  stop(): void;
}

export function simulated(kind: string, options: SimulatedOptions = {}): Simulated {
  const path = join(tempDir(), 'meter');
  const { steps, watts, source, measuring, baud, faults, seed } = options;
  let opened = 0;
  const simulator = simulate(
    {
      kind: kindNamed(kind),
      source: source ?? (steps === undefined ? constantPower(watts ?? 10) : steppedPower(steps, false)),
      measuring: measuring ?? {},
      ...(baud !== undefined && { baud }),
      faults: (faults ?? []).map(parseFault),
      seed: seed ?? 1,
    },
    () => {
      opened += 1;
      return openPty(path);
    },
  );
  return { path, startNs: simulator.startNs, opened: () => opened, stop: () => simulator.stop() };
}
