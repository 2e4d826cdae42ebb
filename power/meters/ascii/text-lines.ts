/** A stretch of what came, up to the end of a line. */
export interface TextLine {
  readonly bytes: Uint8Array;
  /** Without its end; null when it is too long or holds what cannot be printed. */
  readonly text: string | null;
}

const longest = 512;

/** Lines of bytes as they come, in any cut; CR, LF or both end one, empty ones are left out. */
export class LineSplitter {
  private held: number[] = [];
  private overlong = false;

  push(bytes: Uint8Array): TextLine[] {
    const lines: TextLine[] = [];
    for (const byte of bytes) {
      if (byte !== 0x0a && byte !== 0x0d) {
        if (this.held.length < longest) this.held.push(byte);
        else this.overlong = true;
        continue;
      }
      if (this.held.length > 0) lines.push(this.line());
      this.held = [];
      this.overlong = false;
    }
    return lines;
  }

  /** Drops a line that has begun. */
  clear(): void {
    this.held = [];
    this.overlong = false;
  }

  private line(): TextLine {
    const bytes = Uint8Array.from(this.held);
    // A byte 0 is what the system gives for one that was damaged on the wire: a digit may have been there.
    const printable = this.held.every((byte) => (byte >= 0x20 && byte < 0x7f) || byte === 0x09);
    const sound = printable && !this.overlong;
    return { bytes, text: sound ? String.fromCharCode(...this.held).trim() : null };
  }
}

const decimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i;

/**
 * A number as meters write it: `10.3`, `-0.5`, `1.03E+01`.
 *
 * @returns `nan` and `inf` for what says that there is none, or too much: NAN, ---, INF, OVER, and SCPI's 9.91E37 and 9.9E37; null for
 *   anything else
 */
export function readNumber(text: string): number | 'nan' | 'inf' | null {
  if (/^[+-]?(nan|-{2,}|n\/?a)$/i.test(text)) return 'nan';
  if (/^[+-]?(inf|inf(inity|init)|ovr?|over|overflow|o\.?l\.?)$/i.test(text)) return 'inf';
  if (!decimal.test(text)) return null;
  const value = Number(text);
  // SCPI 1999, 7.2.1.4 and 7.2.1.5: infinity and not a number as numbers.
  if (Math.abs(value) >= 9.905e37) return 'nan';
  return Math.abs(value) >= 9.895e37 ? 'inf' : value;
}
