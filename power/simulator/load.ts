import { readFileSync } from 'node:fs';
import type { PowerSource } from './source.js';

export interface LoadSettings {
  /** Drawn by the machine at rest. */
  readonly idleWatts: number;
  /** On top, for each core that works. */
  readonly wattsPerCore: number;
}

/**
 * Power that follows the work of this very machine: idle watts, and so many for each busy core, by the CPU time of all processes between
 * two calls (`/proc/stat`).
 */
export function loadPower(settings: LoadSettings, read = readBusySeconds): PowerSource {
  let before = { at: read(), seconds: 0 };
  let joules = 0;
  let watts = settings.idleWatts;
  return {
    joulesUntil: (seconds) => {
      const elapsed = seconds - before.seconds;
      if (elapsed <= 0) return joules;
      const now = read();
      const real = now.realSeconds - before.at.realSeconds;
      // Behind its timer, several periods in one go share what was measured over all of them.
      if (real > 0.001) {
        const cores = Math.max(0, now.busySeconds - before.at.busySeconds) / real;
        watts = settings.idleWatts + settings.wattsPerCore * cores;
        before = { at: now, seconds };
      } else before = { ...before, seconds };
      joules += watts * elapsed;
      return joules;
    },
  };
}

export interface BusyTime {
  /** CPU time that processes and interrupts used since the machine started, all cores together. */
  readonly busySeconds: number;
  readonly realSeconds: number;
}

/** Jiffies that the kernel shows are hundredths of a second on every Linux (USER_HZ). */
const jiffiesPerSecond = 100;

export function readBusySeconds(): BusyTime {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = line
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return {
    busySeconds: (user + nice + system + irq + softirq) / jiffiesPerSecond,
    realSeconds: Number(process.hrtime.bigint()) / 1e9,
  };
}
