import { loadavg, release } from 'node:os';
import si from 'systeminformation';
import { addon } from '../../../../native/host/index.js';

export type Machine = Awaited<ReturnType<typeof describeMachine>>;

/** What the figures were measured on and with. */
export async function describeMachine() {
  const [cpu, memory] = await Promise.all([si.cpu(), si.mem()]);
  return {
    cpu: `${cpu.manufacturer} ${cpu.brand}`.trim(),
    cores: cpu.cores,
    governor: cpu.governor,
    memory_bytes: memory.total,
    kernel: release(),
    node: process.version,
    load_average_before: loadavg()[0] ?? 0,
    build: addon().build(),
  };
}
