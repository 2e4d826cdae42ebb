import type { Handler } from './handler.js';

export const textCancel: Handler<'text.cancel'> = ({ stream }, { connection }) => {
  const job = connection.streams.get(stream);
  job?.cancel();
  return { cancelled: job !== undefined };
};
