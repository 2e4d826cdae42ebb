import type { Counts } from '../metrics/counts.js';
import type { LoadedModel } from '../models/loaded-model.js';
import { SpikedError } from '../../client/protocol/index.js';
import type { NativeSession } from '../../native/host/index.js';
import type { Job, Scheduler } from './scheduler.js';

/** One text.score: a single turn over the whole text. */
export class Scoring implements Job {
  readonly result: Promise<{ ids: Int32Array; logprobs: Float32Array }>;
  private resolve: (result: { ids: Int32Array; logprobs: Float32Array }) => void = () => undefined;
  private reject: (error: unknown) => void = () => undefined;
  private ids: Int32Array | null = null;
  private session: NativeSession | null = null;
  private over = false;
  private readonly arrivedNs = process.hrtime.bigint();

  constructor(
    private readonly model: LoadedModel,
    private readonly readPrompt: () => Promise<Int32Array>,
    private readonly scheduler: Scheduler,
    private readonly counts: Counts,
  ) {
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Enters the queue. Whatever goes wrong is told by `result`. */
  submit(): void {
    this.model.acquire();
    try {
      this.scheduler.submit(this);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.readPrompt().then(
      (ids) => {
        this.ids = ids;
        this.scheduler.wake();
      },
      (error: unknown) => {
        this.fail(error);
      },
    );
  }

  ready(): boolean {
    return this.ids !== null;
  }

  stalled(): boolean {
    return false;
  }

  async run(): Promise<boolean> {
    const ids = this.ids ?? new Int32Array();
    try {
      this.counts.waited(process.hrtime.bigint() - this.arrivedNs);
      this.session = this.model.native.openSession();
      const { logprobs } = await this.session.score(ids);
      this.counts.fed(null, this.session.stats());
      this.close();
      // On the wire they are f32, as the log-probabilities of generated tokens.
      this.resolve({ ids, logprobs: Float32Array.from(logprobs) });
    } catch (error) {
      this.fail(error);
    }
    return true;
  }

  cancel(): void {
    if (this.session) this.session.cancel();
    else this.fail(new SpikedError('ERR_CANCELLED', 'text.score: its connection or the daemon ended'));
  }

  private fail(error: unknown): void {
    if (this.over) return;
    this.close();
    this.reject(error);
  }

  private close(): void {
    this.over = true;
    this.session?.close();
    this.session = null;
    this.model.release();
    this.scheduler.remove(this);
  }
}
