import { checkHead, seedOf, wireSeed } from './generation.js';
import type { Handler } from './handler.js';

export const sessionOpen: Handler<'session.open'> = (params, { daemon, connection }) => {
  const model = daemon.models.get(params.model);
  checkHead('session.open', model, params.head);
  const idleTimeoutMs = params.idle_timeout_ms ?? daemon.config.sessionIdleMs;
  const session = daemon.sessions.add(connection, {
    model,
    seed: seedOf(params.seed),
    head: params.head,
    idleTimeoutMs,
  });
  connection.log.debug({ session: session.setup.id, model: model.name }, 'session opened');
  return {
    session: session.setup.id,
    model: model.name,
    seed: wireSeed(session.seed),
    idle_timeout_ms: idleTimeoutMs,
    context_limit: model.contextLimit,
  };
};
