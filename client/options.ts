export interface ConnectOptions {
  /** Default: the first of usualSocketPaths() at which a daemon answers. */
  path?: string | undefined;
  /** Milliseconds until a connection must stand, 5,000 unless given. */
  timeoutMs?: number | undefined;
}

export interface CallOptions {
  /** Abandons the call: it rejects with ERR_CANCELLED at once, and a generation is cancelled in the daemon. */
  signal?: AbortSignal | undefined;
  /**
   * Milliseconds without an answer (or, for a generation, without a token) until the call rejects with ERR_TIMEOUT; 0 waits for ever.
   * Default: 30,000; 600,000 for calls that compute or load.
   */
  timeoutMs?: number | undefined;
}

export const connectTimeoutMs = 5_000;
export const shortTimeoutMs = 30_000;
export const longTimeoutMs = 600_000;
