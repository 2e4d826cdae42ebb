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
  /** What the end of its time does; without it that is ERR_TIMEOUT. */
  late?: {
    /** The result of a compute that has not begun. */
    nothing: T;
    /** Makes one that is under way end soon, with what there is. */
    stop: () => void;
  };
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
    const { model, timeoutMs, readIds } = this.work;
    model.acquire();
    try {
      this.scheduler.submit(this);
    } catch (error) {
      this.fail(error);
      return;
    }
    if (timeoutMs !== undefined) this.timer = setTimeout(() => this.timeIsUp(), timeoutMs);
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

  /** @param why  for whoever still waits for the answer */
  cancel(why = 'the daemon stops, or its connection ended'): void {
    this.stop(new SpikedError('ERR_CANCELLED', `${this.work.name}: ${why}`));
  }

  private timeIsUp(): void {
    const { name, timeoutMs, late } = this.work;
    if (!late) {
      this.stop(new SpikedError('ERR_TIMEOUT', `${name}: expected an end within ${timeoutMs} ms`));
    } else if (this.computing) late.stop();
    else if (!this.over) {
      this.close();
      this.resolve(late.nothing);
    }
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
