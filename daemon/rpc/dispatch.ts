import { randomBytes } from 'node:crypto';
import {
  isMethodName,
  maxMethodBytes,
  parseEnvelope,
  parseParams,
  SpikedError,
  type MethodName,
} from '../../client/protocol/index.js';
import { handlers } from '../methods/index.js';
import type { Call } from '../methods/handler.js';
import type { DaemonState } from '../state.js';
import type { Connection } from './connection.js';
import { logRequest, type Ended } from './request-log.js';

/** Bounded by the queue, not by the number of calls at work. */
const queued = new Set<MethodName>(['text.generate', 'text.score', 'session.append', 'session.generate']);

/** Turns one message into a call and whatever the call throws into an answer; nothing else does. */
export function dispatch(daemon: DaemonState, connection: Connection, message: unknown, utf8: boolean): void {
  const envelope = parseEnvelope(message);
  switch (envelope.kind) {
    case 'notification':
      // Unknown ones are none of our business; Neovim answers events that it does not know with one.
      if (envelope.method === 'text.cancel') cancelQuietly(daemon, connection, envelope.params);
      return;
    case 'response':
      return;
    case 'invalid': {
      const error = new SpikedError('ERR_RPC_INVALID', envelope.reason);
      if (envelope.id === null) connection.close(error);
      else connection.refuse(envelope.id, error);
      return;
    }
    case 'request':
      if (connection.begin(envelope.id))
        void handle(daemon, connection, envelope.id, envelope.method, envelope.params, utf8);
      else {
        const text = `message id ${envelope.id}: expected an id that is not in flight; the first request goes on`;
        connection.refuse(envelope.id, new SpikedError('ERR_RPC_INVALID', text));
      }
  }
}

async function handle(
  daemon: DaemonState,
  connection: Connection,
  id: number,
  method: unknown,
  params: unknown,
  utf8: boolean,
): Promise<void> {
  const beganNs = process.hrtime.bigint();
  const ended = (outcome: Ended['outcome']): void => {
    const known = knownMethod(method);
    daemon.counts.request(known, 'error' in outcome ? outcome.error.code : 'ok');
    const map: unknown = Array.isArray(params) ? params[0] : undefined;
    logRequest(connection, { method: known, params: map, beganNs, outcome }, daemon.config.logText);
  };
  try {
    if (!utf8)
      throw new SpikedError('ERR_RPC_INVALID', 'a message: expected UTF-8 in its strings, found other bytes');
    const called = call(daemon, connection, checkMethod(daemon, method), params);
    const result: unknown = called instanceof Promise ? await called : called;
    connection.answer(id, result);
    ended({ result });
  } catch (thrown) {
    const error = asSpikedError(connection, method, thrown);
    ended({ error });
    connection.answerError(id, error);
  }
}

/** Names that clients make up would be metrics without end, and are texts that the log must not hold. */
function knownMethod(method: unknown): string {
  return typeof method === 'string' && isMethodName(method) ? method : 'unknown';
}

function checkMethod(daemon: DaemonState, method: unknown): MethodName {
  if (typeof method !== 'string' || Buffer.byteLength(method) > maxMethodBytes) {
    throw new SpikedError(
      'ERR_RPC_INVALID',
      `a request: expected a method name of at most ${maxMethodBytes} bytes`,
    );
  }
  if (!isMethodName(method)) {
    throw new SpikedError(
      'ERR_METHOD_UNKNOWN',
      `${JSON.stringify(method)}: expected one of ${Object.keys(handlers).join(', ')}`,
    );
  }
  if (daemon.stopping && method !== 'text.cancel') {
    throw new SpikedError('ERR_SHUTTING_DOWN', `${method}: the daemon is stopping and takes no new work`);
  }
  return method;
}

function call(daemon: DaemonState, connection: Connection, method: MethodName, params: unknown): unknown {
  // parseParams has made the parameters those of this very method.
  const handler = handlers[method] as (params: unknown, call: Call) => unknown;
  const result = handler(parseParams(method, onlyMap(method, params)), { daemon, connection });
  return result instanceof Promise && !queued.has(method) ? connection.bounded(result) : result;
}

function cancelQuietly(daemon: DaemonState, connection: Connection, params: unknown): void {
  try {
    call(daemon, connection, 'text.cancel', params);
  } catch (error) {
    connection.log.debug({ reason: String(error) }, 'ignoring a malformed text.cancel notification');
  }
}

/** One map as the only positional parameter; none at all means an empty one. */
function onlyMap(method: MethodName, params: unknown): unknown {
  if (!Array.isArray(params))
    throw new SpikedError('ERR_RPC_INVALID', `${method}: expected an array of parameters`);
  if (params.length > 1) {
    throw new SpikedError(
      'ERR_INVALID_ARGUMENT',
      `${method}: expected one map as the only parameter, found ${params.length} parameters`,
    );
  }
  return params.length === 0 ? {} : (params[0] as unknown);
}

function asSpikedError(connection: Connection, method: unknown, error: unknown): SpikedError {
  if (error instanceof SpikedError && error.code !== 'ERR_INTERNAL') return error;
  const reference = randomBytes(4).toString('hex');
  connection.log.error({ err: error, method: String(method), reference }, 'a method failed unexpectedly');
  return new SpikedError('ERR_INTERNAL', `${String(method)}: unexpected failure, logged as ${reference}`, {
    cause: error,
  });
}
