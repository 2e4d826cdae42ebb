export interface Matched {
  /** What may be shown now. */
  text: string;
  /** The stop string that was found; it and everything after it are left out. */
  stop: string | null;
}

/**
 * Finds the first of several stop strings in a text that arrives in pieces, and holds back an end that may still become one.
 *
 * The match that ends first wins, of those the one that begins first: so the result does not depend on where the pieces end.
 */
export class StopMatcher {
  private held = '';

  constructor(private readonly stops: readonly string[]) {}

  push(piece: string): Matched {
    if (this.stops.length === 0) return { text: piece, stop: null };
    const text = this.held + piece;
    const match = this.find(text);
    if (match) {
      this.held = '';
      return { text: text.slice(0, match.index), stop: match.stop };
    }
    const keep = this.possibleStart(text);
    this.held = text.slice(keep);
    return { text: text.slice(0, keep), stop: null };
  }

  /** What was held back; no more text comes. */
  end(): string {
    const rest = this.held;
    this.held = '';
    return rest;
  }

  private find(text: string): { index: number; stop: string } | null {
    let best: { index: number; stop: string; end: number } | null = null;
    for (const stop of this.stops) {
      const index = text.indexOf(stop);
      const end = index + stop.length;
      if (index < 0) continue;
      if (!best || end < best.end || (end === best.end && index < best.index)) best = { index, stop, end };
    }
    return best;
  }

  /** The first index from which the rest of the text is a proper beginning of some stop string; the length when none is. */
  private possibleStart(text: string): number {
    const longest = Math.max(0, ...this.stops.map((stop) => stop.length - 1));
    for (let start = Math.max(0, text.length - longest); start < text.length; start++) {
      const tail = text.slice(start);
      if (this.stops.some((stop) => stop.length > tail.length && stop.startsWith(tail))) return start;
    }
    return text.length;
  }
}
