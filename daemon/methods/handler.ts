import type { FullParams, MethodName, Result } from '../../client/protocol/index.js';
import type { Connection } from '../rpc/connection.js';
import type { DaemonState } from '../state.js';

/** Who calls, and whom. */
export interface Call {
  daemon: DaemonState;
  connection: Connection;
}

/** A method: throws SpikedError for whatever its caller should know. Synchronous ones are answered at once. */
export type Handler<M extends MethodName> = (
  params: FullParams<M>,
  call: Call,
) => Result<M> | Promise<Result<M>>;
