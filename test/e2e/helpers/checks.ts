/** What one client saw, and what of it was wrong. */
import type { Audited, Outcome } from './audited.js';

export interface Tally {
  answered: number;
  /** Refused because the queue was full. */
  busy: number;
  /** The connection ended before the answer. */
  lost: number;
  wrong: string[];
}

export class Checks {
  readonly tally: Tally = { answered: 0, busy: 0, lost: 0, wrong: [] };

  /** Null, and counted, when there is no result; wrong is an error that a good request must not get. */
  resultOf(outcome: Outcome, what: string): Record<string, unknown> | null {
    if (outcome.kind === 'result') return outcome.result;
    if (outcome.kind === 'lost') this.tally.lost++;
    else if (outcome.code === 'ERR_BUSY') this.tally.busy++;
    else if (outcome.code !== 'ERR_SHUTTING_DOWN') this.tally.wrong.push(`${what}: ${outcome.text}`);
    return null;
  }

  check(right: boolean, what: string, found: unknown, expected: unknown): void {
    if (!right)
      this.tally.wrong.push(`${what}: found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
  }

  /** Adds what a connection that has ended was found to do. */
  add(connection: Audited): void {
    this.tally.answered += connection.answered;
    this.tally.wrong.push(...connection.violations);
  }
}

export function addTallies(tallies: readonly Tally[]): Tally {
  const total: Tally = { answered: 0, busy: 0, lost: 0, wrong: [] };
  for (const tally of tallies) {
    total.answered += tally.answered;
    total.busy += tally.busy;
    total.lost += tally.lost;
    total.wrong.push(...tally.wrong);
  }
  return total;
}

export function same(found: unknown, expected: readonly unknown[]): boolean {
  return JSON.stringify(found) === JSON.stringify(expected);
}
