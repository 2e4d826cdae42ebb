import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { mib, ok, warn, type Check } from './check.js';

export interface CgroupLimits {
  path: string;
  /** The tightest of the group's own and those above it. */
  memoryBytes: number | undefined;
  cpus: number | undefined;
}

/** Limits of a process's cgroup, of version 2; undefined where the machine has another. */
export async function readCgroup(pid: number, root = '/'): Promise<CgroupLimits | undefined> {
  const own = await readFile(join(root, 'proc', String(pid), 'cgroup'), 'utf8').catch(() => '');
  const path = /^0::(.*)$/m.exec(own)?.[1];
  const mount = join(root, 'sys/fs/cgroup');
  if (path === undefined || (await text(join(mount, 'cgroup.controllers'))) === undefined) return undefined;
  const limits: CgroupLimits = { path, memoryBytes: undefined, cpus: undefined };
  for (let at = path; ; at = dirname(at)) {
    const folder = join(mount, at);
    const memory = Number(await text(join(folder, 'memory.max')));
    const [quota, period] = ((await text(join(folder, 'cpu.max'))) ?? '').split(' ').map(Number);
    const cpus = (quota ?? NaN) / (period ?? NaN);
    if (!Number.isNaN(memory)) limits.memoryBytes = Math.min(memory, limits.memoryBytes ?? Infinity);
    if (!Number.isNaN(cpus)) limits.cpus = Math.min(cpus, limits.cpus ?? Infinity);
    if (at === '/' || at === '.') return limits;
  }
}

async function text(path: string): Promise<string | undefined> {
  return (await readFile(path, 'utf8').catch(() => undefined))?.trim();
}

export function checkCgroup(limits: CgroupLimits | undefined, modelBytes: number, threads: number): Check[] {
  if (limits === undefined) return [ok('cgroup', 'no cgroup of version 2')];
  const { path, memoryBytes, cpus } = limits;
  const found: Check[] = [];
  if (memoryBytes !== undefined && memoryBytes < modelBytes)
    found.push(
      warn(
        'cgroup',
        `${path}: memory.max of ${mib(memoryBytes)} for models of ${mib(modelBytes)}`,
        'raise MemoryMax=',
      ),
    );
  if (cpus !== undefined && cpus < threads)
    found.push(
      warn(
        'cgroup',
        `${path}: cpu.max of ${cpus.toFixed(2)} CPUs for ${threads} threads`,
        'raise CPUQuota=, or take fewer --threads',
      ),
    );
  if (found.length > 0) return found;
  const memory = memoryBytes === undefined ? 'no limit of memory' : `memory ${mib(memoryBytes)}`;
  return [
    ok('cgroup', `${path}: ${memory}, ${cpus === undefined ? 'none of time' : `${cpus.toFixed(2)} CPUs`}`),
  ];
}
