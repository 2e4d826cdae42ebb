import { wireSeed } from './generation.js';
import type { Handler } from './handler.js';

export const sessionFork: Handler<'session.fork'> = async ({ session: id }, { daemon, connection }) => {
  const origin = daemon.sessions.get('session.fork', connection, id);
  const nothing = (): void => undefined;
  const fork = await origin.use('session.fork', nothing, () => daemon.sessions.fork(connection, origin));
  return { session: fork.setup.id, position: fork.ids.length, seed: wireSeed(fork.seed) };
};
