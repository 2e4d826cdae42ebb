import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const everyMs = 50;

/** Samples the resident memory of a process and of all below it until stopped. */
export class RssSampler {
  private peak = 0;
  private running = true;
  private readonly done: Promise<void>;

  constructor(pid: number) {
    this.done = this.sample(pid);
  }

  /** Bytes, the largest sample. */
  async stop(): Promise<number> {
    this.running = false;
    await this.done;
    return this.peak;
  }

  private async sample(pid: number): Promise<void> {
    while (this.running) {
      this.peak = Math.max(this.peak, await rssOfTree(pid));
      await sleep(everyMs);
    }
  }
}

/** Bytes; 0 for a process that has ended. */
export async function rssOfTree(pid: number): Promise<number> {
  const read = (name: string) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '');
  const own = 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(await read('status'))?.[1] ?? 0);
  const children = (await read(`task/${pid}/children`)).split(' ').filter((text) => /^\d+$/.test(text));
  const below = await Promise.all(children.map((child) => rssOfTree(Number(child))));
  return below.reduce((sum, bytes) => sum + bytes, own);
}
