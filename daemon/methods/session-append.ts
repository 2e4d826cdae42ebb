import { Computation } from '../queue/computation.js';
import { checkOnePrompt, readPrompt } from '../text/prompt.js';
import type { Handler } from './handler.js';

export const sessionAppend: Handler<'session.append'> = async (params, { daemon, connection }) => {
  const session = daemon.sessions.get('session.append', connection, params.session);
  const { model } = session.setup;
  const prompt = { ...params, bos: params.bos ?? session.ids.length === 0 };
  checkOnePrompt('session.append', prompt);
  const append = new Computation(
    {
      name: 'session.append',
      owner: connection,
      model,
      timeoutMs: undefined,
      readIds: () => readPrompt(model, prompt, model.contextLimit - session.ids.length),
      compute: async (ids) => ({ appended: ids.length, cached: await session.append(ids, daemon.counts) }),
      abort: () => session.abort(),
    },
    daemon.scheduler,
    daemon.counts,
  );
  return session.use(
    'session.append',
    () => append.cancel(),
    async () => {
      connection.jobs.add(append);
      try {
        append.submit();
        const { appended, cached } = await append.result;
        return {
          session: params.session,
          appended_tokens: appended,
          cached_tokens: cached,
          position: session.ids.length,
        };
      } finally {
        connection.jobs.delete(append);
      }
    },
  );
};
