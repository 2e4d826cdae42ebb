export { Client } from './client.js';
export { connect } from './connect.js';
export { Generation, type GenerateParams, type GenerateResult } from './generation.js';
export { Session, type ChatMessage, type OpenSessionParams, type SessionGenerateParams } from './session.js';
export type { CallOptions, ConnectOptions } from './options.js';
export {
  defaultSocketPath,
  errorTable,
  isErrorCode,
  maxDraft,
  parseParams,
  SpikedError,
  usualSocketPaths,
  type ErrorCode,
  type HeadEvent,
  type MethodName,
  type ModelInfoMessage,
  type Params,
  type Result,
  type TokenEvent,
} from './protocol/index.js';
