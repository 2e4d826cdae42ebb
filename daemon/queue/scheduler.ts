import { SpikedError } from '../../client/protocol/index.js';

/** Work for the engine, done turn by turn. */
export interface Job {
  /** False while it waits for something other than the engine: its prompt's ids, its reader. */
  ready(): boolean;
  /** True while its reader is behind: it then gives its place to one that waits. */
  stalled(): boolean;
  /** One step on the engine. Never rejects. True when the job is over. */
  turn(): Promise<boolean>;
  /** Ends it: at once, or when the turn it is in has ended. */
  cancel(): void;
}

export interface SchedulerLimits {
  maxActive: number;
  maxQueue: number;
}

/** Stalled jobs keep their state in memory, so they are bounded too: all together at most this many times maxActive. */
const stalledFactor = 4;

/**
 * Shares the one engine: active jobs take turns in a fixed circle, one step each; the others wait in order of arrival.
 * A job that is not ready is passed over. One whose reader is behind does not count among the active, so that nobody waits for it;
 * it comes back into the circle as it is.
 */
export class Scheduler {
  private readonly active: Job[] = [];
  private readonly waiting: Job[] = [];
  private running = false;
  private idle: (() => void)[] = [];

  constructor(private readonly limits: SchedulerLimits) {}

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
    if (!this.running) void this.run();
  }

  cancelWaiting(): void {
    for (const job of [...this.waiting]) job.cancel();
  }

  cancelAll(): void {
    for (const job of [...this.waiting, ...this.active]) job.cancel();
  }

  /** Resolves when no job is left. */
  whenIdle(): Promise<void> {
    if (this.active.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.idle.push(resolve));
  }

  private async run(): Promise<void> {
    this.running = true;
    // Callers finish what they are doing (register the job, answer) before its first turn.
    await Promise.resolve();
    for (let job = this.next(); job; job = this.next()) {
      // To the end of the circle before its turn, so that jobs which arrive meanwhile come after it.
      if (take(this.active, job)) this.active.push(job);
      if (await job.turn()) this.remove(job);
    }
    this.running = false;
    if (this.active.length === 0) for (const resolve of this.idle.splice(0)) resolve();
  }

  private hasRoom(): boolean {
    const { maxActive } = this.limits;
    const moving = this.active.reduce((n, job) => n + (job.stalled() ? 0 : 1), 0);
    return moving < maxActive && this.active.length < stalledFactor * maxActive;
  }

  private next(): Job | undefined {
    this.admit();
    return this.active.find((job) => job.ready());
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
