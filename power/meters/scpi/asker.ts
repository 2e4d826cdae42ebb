import { LineSplitter, type TextLine } from '../ascii/text-lines.js';
import type { Line } from '../line.js';
import { pause } from '../timing.js';

/**
 * One query at a time on a line of text. Answers have no number that says whose they are, so after one that did not come nothing is asked
 * until the line was silent: a late answer is never the next query's.
 */
export class Asker {
  private readonly splitter = new LineSplitter();
  private waiting: ((line: TextLine) => void) | undefined;
  private overdue = false;
  private lastHeard = 0;
  /** What came and was no answer, the first of it. */
  stray: string | null = null;

  constructor(
    private readonly line: Line,
    private readonly end: string,
    private readonly patienceMs: number,
  ) {
    line.receive((bytes, tNs) => {
      this.lastHeard = performance.now();
      for (const found of this.splitter.push(bytes)) {
        const take = this.waiting;
        this.waiting = undefined;
        const fault = take !== undefined ? undefined : this.overdue ? 'late' : 'unexpected';
        const damaged = take !== undefined && found.text === null ? 'torn' : fault;
        line.received({ tNs, bytes: found.bytes, ...(damaged !== undefined && { fault: damaged }) });
        this.answeredNs = tNs;
        if (take === undefined) {
          this.stray ??= found.text;
          // Out of step: whose answer the next one is must be certain again.
          this.overdue = true;
        }
        take?.(found);
      }
    });
  }

  /** Arrival of the last answer. */
  answeredNs = 0n;

  send(command: string): Promise<void> {
    return this.line.write(Buffer.from(command + this.end, 'latin1'));
  }

  /** The last answer was another query's: nothing is asked until the line was silent. */
  doubt(): void {
    this.overdue = true;
  }

  /**
   * The answer to a query; null when none came in time, or bytes that are no text.
   *
   * @param waitMs  on top of the usual patience
   */
  async ask(query: string, waitMs = 0): Promise<string | null> {
    const { signal } = this.line;
    if (this.overdue) await this.calm();
    if (signal.aborted) return null;
    const end = new AbortController();
    const got: { answer?: TextLine } = {};
    this.waiting = (found) => {
      got.answer = found;
      end.abort();
    };
    await this.send(query);
    await pause(this.patienceMs + waitMs, AbortSignal.any([end.signal, signal]));
    this.waiting = undefined;
    if (got.answer !== undefined) return got.answer.text;
    if (!this.line.signal.aborted) {
      this.overdue = true;
      this.line.timeout();
    }
    return null;
  }

  /** Waits until nothing has come for as long as an answer may take, but not for ever: a meter that chatters is another one. */
  private async calm(): Promise<void> {
    const { signal } = this.line;
    const begun = performance.now();
    this.lastHeard = begun;
    for (let left = this.patienceMs; left > 0 && !signal.aborted;) {
      await pause(left, signal);
      const now = performance.now();
      left = now - begun > 4 * this.patienceMs ? 0 : this.patienceMs - (now - this.lastHeard);
    }
    if (signal.aborted) return;
    await this.line.flush();
    this.splitter.clear();
    this.overdue = false;
  }
}
