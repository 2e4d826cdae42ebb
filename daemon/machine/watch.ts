import { findings, readMachine, type Finding, type MachineReading } from '../../native/host/index.js';
import type { Logger } from '../log.js';

export interface WatchOptions {
  /** Those that the engine computes on. */
  cpus: readonly number[];
  log: Logger;
  /** Whether the engine computes at the moment. */
  busy: () => boolean;
  /** Age of a reading that is not taken again. */
  cacheMs?: number;
  /** Between two looks while the engine computes. */
  everyMs?: number;
  sys?: string;
}

/** Clocks, temperatures, and what holds the cores back: told in the log once, in server.info as long as it holds. */
export class MachineWatch {
  private reading: Promise<MachineReading> | undefined;
  private readAtMs = -Infinity;
  private last: MachineReading | undefined;
  private wasBusy = false;
  private current: readonly Finding[] = [];
  private readonly told = new Set<string>();
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly options: WatchOptions) {
    this.timer = setInterval(() => {
      // Once more after the work, to see what has passed.
      if (options.busy() || this.wasBusy) void this.read();
    }, options.everyMs ?? 10_000);
    this.timer.unref();
  }

  /** At most some seconds old. */
  read(): Promise<MachineReading> {
    const now = performance.now();
    if (this.reading && now - this.readAtMs < (this.options.cacheMs ?? 4_000)) return this.reading;
    this.readAtMs = now;
    return (this.reading = this.look());
  }

  /** What held the cores back at the last look. */
  get found(): readonly Finding[] {
    return this.current;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<MachineReading> {
    const { cpus, sys, busy, log } = this.options;
    const reading = await readMachine(cpus, sys);
    const isBusy = busy();
    // A governor needs some time to follow the load: its clock counts when the engine computed at the look before, too.
    this.current = findings(reading, isBusy && this.wasBusy, this.last);
    this.wasBusy = isBusy;
    this.last = reading;
    for (const { kind, text, fix } of this.current) {
      if (this.told.has(kind)) continue;
      this.told.add(kind);
      log.warn({ cores: text, fix }, 'the cores are held back');
    }
    return reading;
  }
}
