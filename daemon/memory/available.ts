import { existsSync, readFileSync } from 'node:fs';
import { freemem } from 'node:os';
import { dirname, join } from 'node:path';

/** How the two generations of control groups name the same things. */
const generations = [
  {
    /** Of the group in /proc/self/cgroup; the memory controller of the first generation has a tree of its own. */
    line: /^0::(.*)$/m,
    trees: ['', 'unified'],
    limits: ['memory.max', 'memory.high'],
    usage: 'memory.current',
    file: /^(?:in)?active_file (\d+)$/gm,
  },
  {
    line: /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m,
    trees: ['memory'],
    limits: ['memory.limit_in_bytes'],
    usage: 'memory.usage_in_bytes',
    file: /^total_(?:in)?active_file (\d+)$/gm,
  },
];

/**
 * Bytes that this process can still take: of the machine, and of each control group that it is in, outer ones included. What only caches
 * files counts as free.
 *
 * @param groups  text of /proc/self/cgroup
 * @param root    where the groups' files are
 * @param free    of the machine
 */
export function availableBytes(
  groups: string = read('/proc/self/cgroup') ?? '',
  root = '/sys/fs/cgroup',
  free: number = freemem(),
): number {
  let least = free;
  for (const { line, trees, limits, usage, file } of generations) {
    const path = line.exec(groups)?.[1];
    if (path === undefined) continue;
    for (const tree of trees) {
      const top = join(root, tree);
      for (let group = join(top, path); group.startsWith(top); group = dirname(group)) {
        const number = (name: string): number => Number.parseInt(read(join(group, name)) ?? '', 10);
        const limit = Math.min(...limits.map(number).filter((bytes) => !Number.isNaN(bytes)));
        const cached = [...(read(join(group, 'memory.stat')) ?? '').matchAll(file)];
        const used = number(usage) - cached.reduce((sum, [, bytes]) => sum + Number(bytes), 0);
        if (Number.isFinite(limit) && !Number.isNaN(used)) least = Math.min(least, Math.max(0, limit - used));
      }
    }
  }
  return least;
}

function read(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
