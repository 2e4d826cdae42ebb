/** `#C,S,n,a1,…,an;`: the packet of a Watts Up? meter (communications protocol 1.8 of 2009, section 2). */
export interface Packet {
  /** Lower case in what the meter says: `d` data, `h` header, `v` version. */
  readonly command: string;
  readonly sub: string;
  readonly args: readonly string[];
}

/** A stretch of what came: a packet, or bytes that are none. */
export interface Piece {
  readonly bytes: Uint8Array;
  /** Null for bytes that are no packet. */
  readonly packet: Packet | null;
  /** Why there is none: it broke off or is damaged, or the bytes stood between packets. */
  readonly fault: 'torn' | 'noise' | null;
}

const hash = 0x23;
const semicolon = 0x3b;
/** Longer ones do not exist: the eighteen names of the header have 80 characters. */
const longest = 400;

/** Finds packets in bytes as they come, in any cut. What stands between them is noise, line ends there are nothing. */
export class PacketParser {
  private held: number[] = [];

  push(bytes: Uint8Array): Piece[] {
    const pieces: Piece[] = [];
    const flush = (): void => {
      const piece = dropped(this.held);
      if (piece !== null) pieces.push(piece);
      this.held = [];
    };
    for (const byte of bytes) {
      if (byte === hash) flush();
      this.held.push(byte);
      if (this.held[0] !== hash) continue;
      if (byte === semicolon) {
        pieces.push(whole(this.held));
        this.held = [];
      } else if (this.held.length > longest) flush();
    }
    // Noise is told as it comes; a packet waits for its end.
    if (this.held[0] !== hash) flush();
    return pieces;
  }
}

function dropped(held: readonly number[]): Piece | null {
  if (held[0] === hash) return { bytes: Uint8Array.from(held), packet: null, fault: 'torn' };
  return held.every(isLineEnd) ? null : { bytes: Uint8Array.from(held), packet: null, fault: 'noise' };
}

const isLineEnd = (byte: number): boolean => byte === 0x0d || byte === 0x0a || byte === 0x09 || byte === 0;

/** From `#` to `;`. CR, LF and TAB inside mean nothing; anything else that cannot be printed is damage. */
function whole(held: readonly number[]): Piece {
  const bytes = Uint8Array.from(held);
  const inner = held.slice(1, -1).filter((byte) => byte !== 0x0d && byte !== 0x0a && byte !== 0x09);
  const [command = '', sub = '', count = '', ...args] = String.fromCharCode(...inner).split(',');
  const sound =
    inner.every((byte) => byte >= 0x20 && byte < 0x7f) &&
    /^[A-Za-z]$/.test(command) &&
    sub.length === 1 &&
    /^\d{1,3}$/.test(count) &&
    (count === '0' ? args.length === 0 : args.length === Number(count) && !args.includes(''));
  return sound
    ? { bytes, packet: { command, sub, args }, fault: null }
    : { bytes, packet: null, fault: 'torn' };
}
