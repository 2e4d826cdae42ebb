import type { MethodName } from '../../client/protocol/index.js';
import type { Handler } from './handler.js';
import { modelList } from './model-list.js';
import { modelLoad } from './model-load.js';
import { modelUnload } from './model-unload.js';
import { serverInfo } from './server-info.js';
import { serverMemory } from './server-memory.js';
import { serverMetrics } from './server-metrics.js';
import { serverRequests } from './server-requests.js';
import { sessionAppend } from './session-append.js';
import { sessionClose } from './session-close.js';
import { sessionFork } from './session-fork.js';
import { sessionGenerate } from './session-generate.js';
import { sessionOpen } from './session-open.js';
import { textCancel } from './text-cancel.js';
import { textGenerate } from './text-generate.js';
import { textScore } from './text-score.js';
import { tokensDecode } from './tokens-decode.js';
import { tokensEncode } from './tokens-encode.js';

export const handlers: { [M in MethodName]: Handler<M> } = {
  'server.info': serverInfo,
  'server.memory': serverMemory,
  'server.metrics': serverMetrics,
  'server.requests': serverRequests,
  'model.list': modelList,
  'model.load': modelLoad,
  'model.unload': modelUnload,
  'tokens.encode': tokensEncode,
  'tokens.decode': tokensDecode,
  'text.generate': textGenerate,
  'text.cancel': textCancel,
  'text.score': textScore,
  'session.open': sessionOpen,
  'session.append': sessionAppend,
  'session.generate': sessionGenerate,
  'session.fork': sessionFork,
  'session.close': sessionClose,
};
