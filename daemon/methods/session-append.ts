import { Computation } from '../queue/computation.js';
import { checkOnePrompt, readPrompt } from '../text/prompt.js';
import type { Handler } from './handler.js';

export const sessionAppend: Handler<'session.append'> = async (params, { daemon, connection }) => {
  const session = daemon.sessions.get('session.append', connection, params.session);
  const { model } = session.setup;
  const prompt = { ...params, bos: params.bos ?? session.ids.length === 0 };
  checkOnePrompt('session.append', prompt, ['prompt', 'tokens', 'messages']);
  const late = new AbortController();
  const append = new Computation(
    {
      name: 'session.append',
      owner: connection,
      model,
      timeoutMs: params.timeout_ms,
      readIds: () => readPrompt(model, prompt, model.contextLimit - session.ids.length, session.ids),
      compute: async (ids) => {
        const { appended, cached } = await session.append(ids, daemon.counts, late.signal);
        return { appended, cached, timedOut: appended < ids.length };
      },
      abort: () => session.abort(),
      late: { nothing: { appended: 0, cached: 0, timedOut: true }, stop: () => late.abort() },
    },
    daemon.scheduler,
    daemon.counts,
  );
  return session.use(
    'session.append',
    () => append.cancel(`session ${params.session} was closed`),
    async () => {
      connection.jobs.add(append);
      try {
        append.submit();
        const { appended, cached, timedOut } = await append.result;
        return {
          session: params.session,
          appended_tokens: appended,
          cached_tokens: cached,
          position: session.ids.length,
          timed_out: timedOut,
        };
      } finally {
        connection.jobs.delete(append);
      }
    },
  );
};
