import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';

export interface Holder {
  readonly pid: number;
  readonly name: string;
}

/** The processes that have a file open, as far as this user may see. */
export async function holders(path: string, proc = '/proc'): Promise<Holder[]> {
  const pids = (await readdir(proc)).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const folder = join(proc, pid, 'fd');
      const fds = await readdir(folder).catch(() => []);
      const links = await Promise.all(fds.map((fd) => readlink(join(folder, fd)).catch(() => '')));
      if (!links.includes(path)) return [];
      const name = await readFile(join(proc, pid, 'comm'), 'utf8').catch(() => '');
      return [{ pid: Number(pid), name: name.trim() }];
    }),
  );
  return found.flat();
}
