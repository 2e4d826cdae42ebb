import { SpikedError } from '../../client/protocol/index.js';

/** Work for the engine. */
export interface Job {
  /** Who asked for it: the engine is shared fairly between owners. */
  readonly owner: object;
  /** False while it waits for something other than the engine: its prompt's ids, its reader. */
  ready(): boolean;
  /** True while its reader is behind: it then gives its place to one that waits. */
  stalled(): boolean;
  /** Works until it is over (true) or not ready any more. Never rejects. */
  run(): Promise<boolean>;
  /** Ends it: at once, or when the call that it waits for has ended. */
  cancel(): void;
}

export interface SchedulerLimits {
  maxActive: number;
  maxQueue: number;
  /** Of those, one owner's. */
  maxOwnActive: number;
  maxOwnQueue: number;
}

/** Jobs keep their state in memory, so those beyond maxActive are bounded too: all together at most this many times maxActive. */
const beyondFactor = 4;

/**
 * Who may use the one engine: active jobs, which it steps together (native/addon/engine_thread.h); the others wait.
 *
 * An owner's first job need not wait for the many of another: it becomes active beyond maxActive. A place that becomes free goes to the
 * owner with the fewest active jobs, among equals to the one that has waited longest; an owner's own jobs keep their order.
 * A job that is not ready is passed over. One whose reader is behind does not count among the active, so that nobody waits for it; it
 * goes on as it is.
 */
export class Scheduler {
  private readonly active: Job[] = [];
  /** Each owner's jobs in order of arrival; the owner whose turn comes next is first. */
  private readonly queues = new Map<object, Job[]>();
  private readonly working = new Map<Job, Promise<boolean>>();
  private woken = false;
  private idle: (() => void)[] = [];

  constructor(private limits: SchedulerLimits) {}

  /** Fewer end nobody's work: those beyond them go on. */
  setLimits(limits: SchedulerLimits): void {
    this.limits = limits;
    this.wake();
  }

  get activeCount(): number {
    return this.active.length;
  }

  get waitingCount(): number {
    return this.waiting.length;
  }

  /** @throws SpikedError ERR_BUSY when the queue, or the owner's share of it, is full */
  submit(job: Job): void {
    this.admit();
    if (!this.queues.has(job.owner) && this.hasRoom(job.owner)) this.active.push(job);
    else this.enqueue(job);
    this.wake();
  }

  /** Takes out a job that needs no further turn. */
  remove(job: Job): void {
    const queue = this.queues.get(job.owner);
    if (queue && take(queue, job)) {
      if (queue.length === 0) this.queues.delete(job.owner);
    } else take(this.active, job);
    this.admit();
    this.wake();
  }

  /** Something became ready. */
  wake(): void {
    if (this.woken) return;
    this.woken = true;
    // Callers finish what they are doing (register the job, answer) before anything begins.
    queueMicrotask(() => {
      this.woken = false;
      this.start();
    });
  }

  cancelWaiting(): void {
    for (const job of this.waiting) job.cancel();
  }

  cancelAll(): void {
    for (const job of [...this.waiting, ...this.active]) job.cancel();
  }

  /** Resolves when no job is left, nor any call of one that was removed. */
  whenIdle(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => this.idle.push(resolve));
  }

  /** Resolves when the calls of jobs that were removed have ended, which hold their memory until then; false when there is none. */
  async whenLeft(): Promise<boolean> {
    const leaving = [...this.working].filter(([job]) => !this.active.includes(job));
    await Promise.all(leaving.map(([, run]) => run));
    return leaving.length > 0;
  }

  private get waiting(): Job[] {
    return [...this.queues.values()].flat();
  }

  private get isIdle(): boolean {
    return this.active.length === 0 && this.working.size === 0;
  }

  private start(): void {
    this.admit();
    for (const job of [...this.active]) if (!this.working.has(job) && job.ready()) void this.work(job);
    if (this.isIdle) for (const resolve of this.idle.splice(0)) resolve();
  }

  private async work(job: Job): Promise<void> {
    const run = job.run();
    this.working.set(job, run);
    const over = await run;
    this.working.delete(job);
    if (over) this.remove(job);
    else this.wake();
  }

  private enqueue(job: Job): void {
    const { maxActive, maxQueue, maxOwnActive, maxOwnQueue } = this.limits;
    const own = this.queues.get(job.owner) ?? [];
    if (own.length >= maxOwnQueue) {
      const expected = `at most ${Math.min(maxActive, maxOwnActive)} active and ${maxOwnQueue} waiting of one connection`;
      throw new SpikedError('ERR_BUSY', `queue: expected ${expected}, found ${own.length} waiting`);
    }
    if (this.waitingCount >= maxQueue) {
      const state = `${this.active.length} requests active, ${this.waitingCount} waiting`;
      throw new SpikedError(
        'ERR_BUSY',
        `queue: expected at most ${maxActive} active and ${maxQueue} waiting, found ${state}`,
      );
    }
    own.push(job);
    this.queues.set(job.owner, own);
  }

  private hasRoom(owner: object): boolean {
    const { maxActive, maxOwnActive } = this.limits;
    const own = this.activeOf(owner);
    if (own >= maxOwnActive || this.active.length >= beyondFactor * maxActive) return false;
    const moving = this.active.reduce((n, job) => n + (job.stalled() ? 0 : 1), 0);
    return own === 0 || moving < maxActive;
  }

  private activeOf(owner: object): number {
    return this.active.reduce((n, job) => n + (job.owner === owner ? 1 : 0), 0);
  }

  private admit(): void {
    for (;;) {
      const owners = [...this.queues.keys()].filter((owner) => this.hasRoom(owner));
      const [first, ...others] = owners;
      if (!first) return;
      const next = others.reduce(
        (best, owner) => (this.activeOf(owner) < this.activeOf(best) ? owner : best),
        first,
      );
      const queue = this.queues.get(next) ?? [];
      const job = queue.shift();
      // Behind the other owners, if more of it waits.
      this.queues.delete(next);
      if (queue.length > 0) this.queues.set(next, queue);
      if (job) this.active.push(job);
    }
  }
}

function take(jobs: Job[], job: Job): boolean {
  const index = jobs.indexOf(job);
  if (index < 0) return false;
  jobs.splice(index, 1);
  return true;
}
