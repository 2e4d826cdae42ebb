import { errorTable, type ErrorCode } from '../client/protocol/index.js';

/** How the program ends; `spiked --help` and docs/protocol.md list the same. */
export const exitCodes = {
  ok: 0,
  internal: 1,
  usage: 2,
  model: 3,
  socket: 4,
  selfTest: 5,
  /** EX_CONFIG of sysexits.h, which systemd knows by name. */
  config: 78,
} as const;

export const exitCodeText = `Exit codes: 0 stopped as asked, 1 unexpected failure, 2 command line, 3 a model or its tokenizer, 4 the socket,
5 the self-test, 78 configuration, 128+N a second signal N.`;

export function exitCodeOf(code: ErrorCode): number {
  switch (code) {
    case 'ERR_CANCELLED':
      return exitCodes.ok;
    case 'ERR_SOCKET_IN_USE':
    case 'ERR_SOCKET_PATH':
      return exitCodes.socket;
    case 'ERR_FILE_NOT_FOUND':
    case 'ERR_FILE_IO':
    case 'ERR_NO_MEMORY':
    case 'ERR_RAM_BUDGET':
      return exitCodes.model;
    case 'ERR_CHECK_FAILED':
      return exitCodes.selfTest;
    case 'ERR_USAGE':
      return exitCodes.usage;
    case 'ERR_CONFIG_INVALID':
    case 'ERR_INVALID_ARGUMENT':
    case 'ERR_ISA_UNSUPPORTED':
      return exitCodes.config;
    default:
      return isAboutModels(code) ? exitCodes.model : exitCodes.internal;
  }
}

/** Numbers 300 to 399 are models and files. */
function isAboutModels(code: ErrorCode): boolean {
  return Math.floor(errorTable[code].number / 100) === 3;
}
