import type { Handler } from './handler.js';

export const sessionClose: Handler<'session.close'> = async ({ session: id }, { daemon, connection }) => {
  const session = daemon.sessions.get('session.close', connection, id);
  await session.close();
  return { session: id, position: session.ids.length };
};
