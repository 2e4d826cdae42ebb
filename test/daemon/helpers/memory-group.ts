/** A control group of the kernel that bounds memory: the real one, where this process may make one. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const mount = '/sys/fs/cgroup';

export interface MemoryGroup {
  /** A shell command line that enters the group and becomes the program given as its arguments. */
  readonly enter: string;
  /** Removes it; nothing may run in it any more. */
  remove(): void;
}

/** Null where the kernel, or this process's rights, give none. */
export function memoryGroup(limitBytes: number): MemoryGroup | null {
  const lines = readFileSync('/proc/self/cgroup', 'utf8').split('\n');
  const version1 = lines.find((line) => line.split(':')[1]?.split(',').includes('memory'));
  const own = (version1 ?? lines.find((line) => line.startsWith('0::')))?.split(':').slice(2).join(':');
  if (own === undefined) return null;
  const folder = join(mount, version1 === undefined ? '' : 'memory', own, `spiked-test-${process.pid}`);
  try {
    mkdirSync(folder);
    const limit = ['memory.limit_in_bytes', 'memory.max'].find((name) => existsSync(join(folder, name)));
    if (limit !== undefined) {
      writeFileSync(join(folder, limit), String(limitBytes));
      return {
        enter: `echo $$ > ${join(folder, 'cgroup.procs')} && exec "$@"`,
        remove: () => {
          rmdirSync(folder);
        },
      };
    }
    rmdirSync(folder);
  } catch {
    // Not allowed here.
  }
  return null;
}
