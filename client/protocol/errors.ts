/** The error table and the one error class. `native/base/errors.def` is the source; test/layers compares the two. */

export type Retry = 'never' | 'later' | 'after_change';

export interface ErrorRow {
  readonly number: number;
  readonly retry: Retry;
  readonly meaning: string;
}

// One row a line, like the other three lists.
// prettier-ignore
export const errorTable = {
  ERR_INVALID_ARGUMENT: { number: 100, retry: 'after_change', meaning: 'an argument has the wrong type, value or range' },
  ERR_TOKEN_UNKNOWN: { number: 101, retry: 'after_change', meaning: "a token id lies outside the model's vocabulary" },
  ERR_PROMPT_EMPTY: { number: 102, retry: 'after_change', meaning: 'the prompt holds no token' },
  ERR_CONTEXT_FULL: { number: 103, retry: 'after_change', meaning: 'prompt and requested tokens exceed the context limit' },
  ERR_TEXT_TOO_LONG: { number: 104, retry: 'after_change', meaning: 'a text exceeds the configured cap' },
  ERR_SESSION_CLOSED: { number: 105, retry: 'never', meaning: 'the session or model was closed' },
  ERR_CANCELLED: { number: 106, retry: 'never', meaning: 'the caller cancelled the work' },
  ERR_USAGE: { number: 107, retry: 'after_change', meaning: 'the command line does not fit the command' },
  ERR_CONFIG_INVALID: { number: 108, retry: 'after_change', meaning: "the daemon's configuration is wrong" },
  ERR_PLAN_INVALID: { number: 109, retry: 'after_change', meaning: 'a plan or profile of an energy measurement is wrong' },
  ERR_FILE_NOT_FOUND: { number: 200, retry: 'after_change', meaning: 'a file or directory does not exist' },
  ERR_FILE_IO: { number: 201, retry: 'later', meaning: 'reading, writing, mapping or renaming a file failed' },
  ERR_NO_MEMORY: { number: 202, retry: 'later', meaning: 'memory could not be allocated' },
  ERR_RAM_BUDGET: { number: 203, retry: 'after_change', meaning: 'the work would cross the memory budget' },
  ERR_ISA_UNSUPPORTED: { number: 204, retry: 'after_change', meaning: 'the forced instruction set is unknown or this CPU lacks it' },
  ERR_SOCKET_IN_USE: { number: 205, retry: 'after_change', meaning: 'a live daemon owns the socket path' },
  ERR_SOCKET_PATH: { number: 206, retry: 'after_change', meaning: 'the socket path is too long, no socket, or cannot be used' },
  ERR_CONNECTION_LOST: { number: 207, retry: 'later', meaning: 'the connection ended before the answer' },
  ERR_TIMEOUT: { number: 208, retry: 'later', meaning: 'no answer came in time' },
  ERR_DAEMON_NOT_RUNNING: { number: 209, retry: 'later', meaning: 'nobody answers at the socket path' },
  ERR_TOOL_MISSING: { number: 210, retry: 'after_change', meaning: 'a needed program is not installed' },
  ERR_TOOL_FAILED: { number: 211, retry: 'after_change', meaning: 'a needed program ended with an error' },
  ERR_METER_UNREACHABLE: { number: 212, retry: 'after_change', meaning: "a meter's port is absent, forbidden or held by another program" },
  ERR_METER_SILENT: { number: 213, retry: 'later', meaning: 'nothing that a meter would say came from its port' },
  ERR_METER_MISMATCH: { number: 214, retry: 'after_change', meaning: 'what answers on a port is not the meter that was asked for' },
  ERR_METER_LOST: { number: 215, retry: 'later', meaning: 'a meter went away while it was needed' },
  ERR_MODEL_INVALID: { number: 300, retry: 'after_change', meaning: 'a model file breaks the format: header, metadata, tensor table or data' },
  ERR_MODEL_VERSION: { number: 301, retry: 'after_change', meaning: 'a model file was written for another format version' },
  ERR_MODEL_UNSUPPORTED: { number: 302, retry: 'never', meaning: 'a model file has an architecture, type or option that this build cannot run' },
  ERR_MODEL_TENSOR: { number: 303, retry: 'after_change', meaning: 'a tensor is missing, extra, of the wrong shape, type or layout, or not finite' },
  ERR_MODEL_NOT_FOUND: { number: 304, retry: 'after_change', meaning: 'no model of this name is known or loaded' },
  ERR_MODEL_FORBIDDEN: { number: 305, retry: 'after_change', meaning: 'a model path lies outside the configured model directories' },
  ERR_MODEL_FILE_CHANGED: { number: 306, retry: 'after_change', meaning: 'a model file changed after it was loaded' },
  ERR_MODEL_BUSY: { number: 307, retry: 'later', meaning: 'the model is in use and cannot be unloaded' },
  ERR_CHECKPOINT_INVALID: { number: 310, retry: 'after_change', meaning: 'a checkpoint is truncated, corrupt or of an unknown form' },
  ERR_CHECKPOINT_UNSAFE: { number: 311, retry: 'never', meaning: "a checkpoint's pickle asks for more than a state dict needs" },
  ERR_CHECKPOINT_TENSOR: { number: 312, retry: 'after_change', meaning: "a checkpoint's tensor is missing, extra or of the wrong shape" },
  ERR_TOKENIZER_INVALID: { number: 313, retry: 'after_change', meaning: 'a tokenizer cannot be read or does not fit the model' },
  ERR_TOKENIZER_MISSING: { number: 314, retry: 'after_change', meaning: 'the model carries no tokenizer and the call needs one' },
  ERR_CHECK_FAILED: { number: 320, retry: 'never', meaning: 'a comparison with reference data did not hold' },
  ERR_TRACE_INVALID: { number: 330, retry: 'after_change', meaning: 'a power trace or token file is malformed, or its times are out of order' },
  ERR_EXPERIMENT_INVALID: { number: 331, retry: 'after_change', meaning: "an experiment's folder is not what its plan and journal say" },
  ERR_RPC_INVALID: { number: 400, retry: 'after_change', meaning: 'a message is not MessagePack-RPC or breaks a limit' },
  ERR_METHOD_UNKNOWN: { number: 401, retry: 'after_change', meaning: 'the daemon has no such method' },
  ERR_RPC_TOO_LARGE: { number: 402, retry: 'after_change', meaning: 'a message exceeds the frame size' },
  ERR_BUSY: { number: 403, retry: 'later', meaning: 'a cap on connections or queued requests is reached' },
  ERR_STREAM_UNKNOWN: { number: 404, retry: 'never', meaning: 'no such stream or request is active on this connection' },
  ERR_SHUTTING_DOWN: { number: 405, retry: 'later', meaning: 'the daemon is stopping' },
  ERR_PEER_FORBIDDEN: { number: 406, retry: 'after_change', meaning: "the daemon's allow-lists do not name the user who connects" },
  ERR_INTERNAL: { number: 900, retry: 'later', meaning: 'a broken invariant: a bug in spiked' },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errorTable;

const caller = new Set<string>(['ERR_INVALID_ARGUMENT', 'ERR_USAGE']);

/**
 * Every failure that spiked reports on purpose.
 *
 * `code` is for programs and never changes its meaning, `number` is its row in the table, `message` names the
 * thing, what was expected and what was found.
 */
export class SpikedError extends Error {
  readonly code: ErrorCode;
  readonly number: number;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = caller.has(code) ? 'SpikedTypeError' : 'SpikedError';
    this.code = code;
    this.number = errorTable[code].number;
  }

  /** The form that travels: exactly `[number, "ERR_CODE: message"]`. */
  toWire(): [number, string] {
    return [this.number, `${this.code}: ${this.message}`];
  }
}

/** True for a string that is a code of the table. */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorTable, code);
}

/** The error a wire value stands for; an unknown shape becomes ERR_INTERNAL with the value in its text. */
export function errorFromWire(value: unknown): SpikedError {
  if (Array.isArray(value) && typeof value[1] === 'string') {
    const colon = value[1].indexOf(': ');
    const code = value[1].slice(0, colon);
    if (colon > 0 && isErrorCode(code)) return new SpikedError(code, value[1].slice(colon + 2));
    return new SpikedError('ERR_INTERNAL', value[1]);
  }
  return new SpikedError('ERR_INTERNAL', `unrecognised error on the wire: ${JSON.stringify(value)}`);
}
