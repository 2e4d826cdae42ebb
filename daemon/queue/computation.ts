import { SpikedError } from '../../client/protocol/index.js';
import type { Counts } from '../metrics/counts.js';
import type { LoadedModel } from '../models/loaded-model.js';
import type { Job, Scheduler } from './scheduler.js';

export interface Work<T> {
  /** The method that asks for it. */
  name: string;
  owner: object;
  model: LoadedModel;
  timeoutMs: number | undefined;
  /** Ids that have passed their checks. Called when there is room in the queue. */
  readIds: () => Promise<Int32Array>;
  compute: (ids: Int32Array) => Promise<T>;
  /** Makes a compute that is under way reject soon. */
  abort: () => void;
}

/** Work that has one answer and no events, from its place in the queue to its end. */
export class Computation<T> implements Job {
  readonly result: Promise<T>;
  private resolve: (result: T) => void = () => undefined;
  private reject: (error: unknown) => void = () => undefined;
  private ids: Int32Array | null = null;
  private computing = false;
  private over = false;
  private readonly arrivedNs = process.hrtime.bigint();
  private timer: NodeJS.Timeout | undefined;
  /** Why it ends before its time. */
  private reason: SpikedError | null = null;

  constructor(
    private readonly work: Work<T>,
    private readonly scheduler: Scheduler,
    private readonly counts: Counts,
  ) {
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  get owner(): object {
    return this.work.owner;
  }

  /** Enters the queue. Whatever goes wrong is told by `result`. */
  submit(): void {
    const { name, model, timeoutMs, readIds } = this.work;
    model.acquire();
    try {
      this.scheduler.submit(this);
    } catch (error) {
      this.fail(error);
      return;
    }
    if (timeoutMs !== undefined) {
      const late = new SpikedError('ERR_TIMEOUT', `${name}: expected an end within ${timeoutMs} ms`);
      this.timer = setTimeout(() => this.stop(late), timeoutMs);
    }
    readIds().then(
      (ids) => {
        this.ids = ids;
        this.scheduler.wake();
      },
      (error: unknown) => this.fail(error),
    );
  }

  ready(): boolean {
    return this.ids !== null;
  }

  stalled(): boolean {
    return false;
  }

  async run(): Promise<boolean> {
    if (this.over) return true;
    this.computing = true;
    this.counts.waited(process.hrtime.bigint() - this.arrivedNs);
    try {
      const result = await this.work.compute(this.ids ?? new Int32Array());
      this.close();
      this.resolve(result);
    } catch (error) {
      this.fail(this.reason ?? error);
    }
    return true;
  }

  cancel(): void {
    this.stop(
      new SpikedError('ERR_CANCELLED', `${this.work.name}: its session, its connection or the daemon ended`),
    );
  }

  private stop(reason: SpikedError): void {
    this.reason ??= reason;
    if (this.computing) this.work.abort();
    else this.fail(reason);
  }

  private fail(error: unknown): void {
    if (this.over) return;
    this.close();
    this.reject(error);
  }

  private close(): void {
    this.over = true;
    clearTimeout(this.timer);
    this.work.model.release();
    this.scheduler.remove(this);
  }
}
