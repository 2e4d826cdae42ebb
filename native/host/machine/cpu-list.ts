import { readFileSync } from 'node:fs';

/** The CPUs of a list as the kernel writes it: `0-3,6`. */
export function parseCpuList(list: string): number[] {
  return list
    .trim()
    .split(',')
    .filter((part) => part !== '')
    .flatMap((part) => {
      const [first = 0, last = first] = part.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    });
}

/** The same the other way, ascending. */
export function formatCpuList(cpus: readonly number[]): string {
  const parts: string[] = [];
  const ascending = [...new Set(cpus)].sort((a, b) => a - b);
  for (let i = 0; i < ascending.length;) {
    let end = i;
    while (ascending[end + 1] === (ascending[end] ?? 0) + 1) end++;
    parts.push(end > i ? `${ascending[i]}-${ascending[end]}` : String(ascending[i]));
    i = end + 1;
  }
  return parts.join(',');
}

/** CPUs that this process may use: its affinity, which a cgroup's cpuset limits too. */
export function allowedCpus(): number[] {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return parseCpuList(list ?? '');
}

/** CPUs of an engine that says `cpus`: those of its list, or `none` where the system places its threads. */
export function cpusInUse(cpus: string): number[] {
  return cpus === 'none' ? allowedCpus() : parseCpuList(cpus);
}
