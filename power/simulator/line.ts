import type { Duplex } from 'node:stream';

/** A serial line with the meter at this end: the master of a pseudo-terminal, or any stream. */
export interface Line {
  readonly stream: Duplex;
  /** Bits a second that the other end has set; null where nobody knows. */
  baud(): number | null;
  /** Cuts it: the other end sees a port that is gone. */
  hangUp(): void;
}
