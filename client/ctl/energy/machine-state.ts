import { readFile } from 'node:fs/promises';
import type { MachineState } from '../../../power/experiment/record.js';
import { cpusInUse, findings, readMachine, type MachineReading } from '../../../native/host/index.js';

/** Jiffies that the kernel shows are hundredths of a second on every Linux (USER_HZ). */
const jiffiesPerSecond = 100;

/** CPU seconds since the machine started. */
interface Times {
  readonly atNs: bigint;
  readonly all: number;
  readonly own: number;
}

/** Reads a few files of /sys and /proc and starts nothing, so that it may be called beside a run. */
export class MachineProbe {
  private last: MachineReading | undefined;
  private times: Times | undefined;

  /** @param pids  the daemons; their CPU time and this process's is not others' */
  constructor(
    private readonly cpus: readonly number[],
    private readonly pids: () => readonly number[],
  ) {}

  async read(): Promise<MachineState> {
    const reading = await readMachine(this.cpus);
    const times = await this.readTimes();
    const throttled = findings(reading, false, this.last).some(({ kind }) => kind === 'throttled');
    const load = this.times === undefined || times === null ? null : othersLoad(this.times, times);
    this.last = reading;
    this.times = times ?? undefined;
    const celsius = reading.temperatures.map((zone) => zone.celsius);
    return {
      celsius: celsius.length === 0 ? null : Math.max(...celsius),
      governors: [...new Set(reading.cores.flatMap(({ governor }) => governor ?? []))],
      clocks_mhz: reading.cores.flatMap(({ clockHz }) =>
        clockHz === undefined ? [] : Math.round(clockHz / 1e6),
      ),
      throttled,
      other_load: load,
    };
  }

  private async readTimes(): Promise<Times | null> {
    try {
      const [stat, ...own] = await Promise.all([
        readFile('/proc/stat', 'latin1'),
        ...[process.pid, ...this.pids()].map(processSeconds),
      ]);
      const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = (stat.split('\n', 1)[0] ?? '')
        .trim()
        .split(/\s+/)
        .slice(1)
        .map(Number);
      const all = (user + nice + system + irq + softirq) / jiffiesPerSecond;
      return { atNs: process.hrtime.bigint(), all, own: own.reduce((sum, seconds) => sum + seconds, 0) };
    } catch {
      return null;
    }
  }
}

/** Of a process that ended in between: 0. */
async function processSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // The name, which stands in brackets, may hold spaces.
  const [, , , , , , , , , , , user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 1)
    .trim()
    .split(' ')
    .map(Number);
  return Number.isFinite(user + system) ? (user + system) / jiffiesPerSecond : 0;
}

/** In cores; two clocks of 10 ms each make it uncertain by some hundredths. Null for a daemon that was replaced in between, and below a second. */
function othersLoad(from: Times, to: Times): number | null {
  const seconds = Number(to.atNs - from.atNs) / 1e9;
  const own = to.own - from.own;
  if (seconds < 1 || own < 0) return null;
  return Math.max(0, (to.all - from.all - own) / seconds);
}

/** CPUs of the daemons' engines. */
export function cpusOf(lists: readonly string[]): number[] {
  return [...new Set(lists.flatMap(cpusInUse))].sort((a, b) => a - b);
}
