import { SpikedError } from '../../client/protocol/index.js';
import type { OpenSession } from '../sessions/open-session.js';
import { checkGeneration, runGeneration } from './generation.js';
import type { Handler } from './handler.js';

export const sessionGenerate: Handler<'session.generate'> = async (params, call) => {
  const { daemon, connection } = call;
  const session = daemon.sessions.get('session.generate', connection, params.session);
  const { model } = session.setup;
  const full = { ...params, head: params.head ?? session.setup.head };
  checkGeneration('session.generate', model, full, call);
  return session.use(
    'session.generate',
    () => connection.streams.get(params.stream)?.cancel(),
    () =>
      runGeneration(call, {
        params: full,
        model,
        sequence: session,
        seed: params.seed === undefined ? session.seed : BigInt(params.seed),
        readPrompt: async () => readText(session),
      }),
  );
};

/** What was appended and generated so far. */
function readText(session: OpenSession): Int32Array {
  const { model, id } = session.setup;
  const { length } = session.ids;
  if (length === 0) {
    throw new SpikedError(
      'ERR_PROMPT_EMPTY',
      `session ${id}: expected at least one token, found none; see session.append`,
    );
  }
  if (length >= model.contextLimit) {
    const expected = `fewer than the ${model.contextLimit} tokens of its context`;
    throw new SpikedError('ERR_CONTEXT_FULL', `session ${id}: expected ${expected}, found ${length}`);
  }
  return Int32Array.from(session.ids);
}
