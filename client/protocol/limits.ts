/** What a peer accepts in one message. Checked on the bytes, before anything is decoded. */
export interface WireLimits {
  /** Whole message. */
  maxFrameBytes: number;
  /** Containers inside containers; the message's own array counts as 1. */
  maxDepth: number;
  /** Items of one array, pairs of one map. */
  maxItems: number;
}

/** What the daemon accepts by default; server.info reports the values in force. */
export const serverWireLimits: WireLimits = { maxFrameBytes: 1 << 20, maxDepth: 32, maxItems: 4096 };

/** What our client accepts: answers may be larger than requests (text.score of a long context). */
export const clientWireLimits: WireLimits = { maxFrameBytes: 1 << 26, maxDepth: 64, maxItems: 1 << 21 };

/** Version of methods, fields and their meaning, as server.info reports it. */
export const protocolVersion = 1;

/** Bytes of a method name. */
export const maxMethodBytes = 64;

/** Bytes of a stream id given as text. */
export const maxStreamIdBytes = 64;

/** Stop strings of one request, and bytes of each. */
export const maxStops = 16;
export const maxStopBytes = 256;
