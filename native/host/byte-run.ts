/** The form that UTF-8 gives a sequence whose first byte is `lead`: its length, or 1 when no sequence begins so. */
function lengthFor(lead: number): number {
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 1;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const replacement = '\ufffd';

/**
 * Text of a run of bytes that arrive one by one, never split inside a character. A byte that belongs to no character becomes one
 * U+FFFD of its own (SentencePiece's rule; the usual one gives a single U+FFFD for several).
 */
export class ByteRun {
  private readonly waiting: number[] = [];

  /** The text that is certain now. */
  push(byte: number): string {
    this.waiting.push(byte);
    return this.drain(false);
  }

  /** The run has ended: what waits is incomplete. */
  end(): string {
    return this.drain(true);
  }

  private drain(ended: boolean): string {
    let text = '';
    while (this.waiting.length > 0) {
      const length = lengthFor(this.waiting[0] ?? 0);
      const sequence = this.waiting.slice(0, length);
      const broken = sequence.slice(1).some((byte) => (byte & 0xc0) !== 0x80);
      if (!broken && sequence.length < length && !ended) return text;
      const character = broken || sequence.length < length ? replacement : decoded(sequence);
      text += character;
      this.waiting.splice(0, character === replacement && !isReplacement(sequence) ? 1 : length);
    }
    return text;
  }
}

function decoded(sequence: number[]): string {
  try {
    return utf8.decode(Uint8Array.from(sequence));
  } catch {
    return replacement; // overlong, a surrogate, or beyond U+10FFFF
  }
}

/** U+FFFD itself, written out. */
const isReplacement = ([a, b, c]: number[]): boolean => a === 0xef && b === 0xbf && c === 0xbd;
