import { Device, type Measuring } from './device.js';
import { damage, FaultClock, readingFaults, type Fault } from './faults.js';
import type { Line } from './line.js';
import { seededRandom } from './random.js';
import type { PowerSource } from './source.js';
import type { Ear, Kind } from './speaker.js';

export interface Simulation {
  readonly kind: Kind;
  readonly source: PowerSource;
  /** What differs from the kind's own. */
  readonly measuring: Partial<Measuring>;
  /** Instead of the kind's own. */
  readonly baud?: number;
  readonly faults: readonly Fault[];
  readonly seed: number;
}

export interface Simulator {
  /** CLOCK_MONOTONIC at second 0 of the power source. */
  readonly startNs: bigint;
  /** Ends it and cuts the line. */
  stop(): void;
}

/**
 * A simulated meter on a serial line: measures the power source, speaks the protocol of its kind, and goes wrong when told to.
 *
 * @param openLine  gives a line, at once and again each time that it comes back from a hang-up
 */
export function simulate(simulation: Simulation, openLine: () => Line): Simulator {
  const { kind, faults, seed } = simulation;
  const startMs = performance.now();
  const startNs = process.hrtime.bigint();
  const seconds = (): number => (performance.now() - startMs) / 1000;
  const measuring = { ...kind.measuring, ...simulation.measuring };
  const baud = simulation.baud ?? kind.baud;
  const device = new Device(measuring, simulation.source, seed, readingFaults(faults, seed + 1), startMs);
  const messages = new FaultClock(faults, 'message', seed + 2);
  const cuts = new FaultClock(faults, 'line', seed + 3);
  const random = seededRandom(seed + 4);
  const timers = new Set<NodeJS.Timeout>();
  let said = 0;
  let endUpdates: (() => void) | null = null;
  let line: Line | null = null;

  const later = (ms: number, work: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      work();
    }, ms);
    timers.add(timer);
  };
  const hangUp = (): void => {
    endUpdates?.();
    endUpdates = null;
    line?.hangUp();
    line = null;
  };
  /** Whether the line ends instead of what was about to be said. */
  const cut = (): boolean => {
    const [fault] = cuts.active(said, seconds());
    if (fault === undefined) return false;
    hangUp();
    if (fault.number >= 0) later(fault.number * 1000, connect);
    return true;
  };

  function say(on: Line, message: Uint8Array, afterMs: number): void {
    if (on !== line) return;
    said += 1;
    if (cut()) return;
    let bytes = message;
    let ms = afterMs;
    for (const fault of messages.active(said, seconds())) {
      if (fault.kind === 'late') ms += fault.number;
      else bytes = damage(bytes, fault, random);
    }
    later(ms, () => {
      // Bytes that nobody takes are lost, as on a wire.
      if (on === line && bytes.length > 0 && on.stream.writableLength === 0) on.stream.write(bytes);
    });
  }

  function connect(): void {
    const opened = openLine();
    line = opened;
    const heard = (): boolean => (opened.baud() ?? baud) === baud;
    const ear: Ear = kind.speak(
      {
        read: () => device.read(),
        say: (message, afterMs) => {
          if (heard()) say(opened, message, afterMs);
        },
        onUpdate: (listener) => {
          endUpdates?.();
          endUpdates = listener === null ? null : device.onUpdate(listener);
        },
      },
      baud,
    );
    opened.stream.on('data', (bytes: Uint8Array) => {
      if (opened === line && heard()) ear(bytes);
    });
    opened.stream.on('error', () => undefined); // the other end went away
  }

  connect();
  return {
    startNs,
    stop: () => {
      hangUp();
      device.stop();
      for (const timer of timers) clearTimeout(timer);
    },
  };
}
