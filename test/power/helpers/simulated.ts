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
  type Simulator,
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

const folder = tempDir();
let made = 0;
const running = new Set<Simulator>();

/** Stops every one, for a test file's `after`: the process would live on with what a failed test left. */
export function stopSimulated(): void {
  for (const simulator of running) simulator.stop();
}

export function simulated(kind: string, options: SimulatedOptions = {}): Simulated {
  const path = join(folder, `meter-${String((made += 1))}`);
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
  running.add(simulator);
  return { path, startNs: simulator.startNs, opened: () => opened, stop: () => simulator.stop() };
}

/** Power that a test sets as it goes. */
export function steered(watts: number): { source: PowerSource; set: (watts: number) => void } {
  let level = watts;
  let joules = 0;
  let before = 0;
  const joulesUntil = (seconds: number): number => {
    joules += level * (seconds - before);
    before = seconds;
    return joules;
  };
  return { source: { joulesUntil }, set: (next) => void (level = next) };
}
