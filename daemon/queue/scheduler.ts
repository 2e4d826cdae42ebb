import { SpikedError } from '../../client/protocol/index.js';

/** Work for the engine. */
export interface Job {
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
}

/** Stalled jobs keep their state in memory, so they are bounded too: all together at most this many times maxActive. */
const stalledFactor = 4;

/**
 * Who may use the one engine: active jobs, which it steps together (native/addon/engine_thread.h); the others wait in
 * order of arrival. A job that is not ready is passed over. One whose reader is behind does not count among the active, so that nobody
 * waits for it; it goes on as it is.
 */
export class Scheduler {
  private readonly active: Job[] = [];
  private readonly waiting: Job[] = [];
  private readonly working = new Set<Job>();
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

  /** @throws SpikedError ERR_BUSY when the queue is full */
  submit(job: Job): void {
    const { maxActive, maxQueue } = this.limits;
    if (this.hasRoom()) this.active.push(job);
    else if (this.waiting.length < maxQueue) this.waiting.push(job);
    else {
      const state = `${this.active.length} requests active, ${this.waiting.length} waiting`;
      throw new SpikedError(
        'ERR_BUSY',
        `queue: expected at most ${maxActive} active and ${maxQueue} waiting, found ${state}`,
      );
    }
    this.wake();
  }

  /** Takes out a job that needs no further turn. */
  remove(job: Job): void {
    if (!take(this.waiting, job)) take(this.active, job);
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
    for (const job of [...this.waiting]) job.cancel();
  }

  cancelAll(): void {
    for (const job of [...this.waiting, ...this.active]) job.cancel();
  }

  /** Resolves when no job is left, nor any call of one that was removed. */
  whenIdle(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => this.idle.push(resolve));
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
    this.working.add(job);
    const over = await job.run();
    this.working.delete(job);
    if (over) this.remove(job);
    else this.wake();
  }

  private hasRoom(): boolean {
    const { maxActive } = this.limits;
    const moving = this.active.reduce((n, job) => n + (job.stalled() ? 0 : 1), 0);
    return moving < maxActive && this.active.length < stalledFactor * maxActive;
  }

  private admit(): void {
    while (this.hasRoom()) {
      const job = this.waiting.shift();
      if (!job) return;
      this.active.push(job);
    }
  }
}

function take(jobs: Job[], job: Job): boolean {
  const index = jobs.indexOf(job);
  if (index < 0) return false;
  jobs.splice(index, 1);
  return true;
}
