import type { Handler } from './handler.js';

const most = 256;

export const serverRequests: Handler<'server.requests'> = (_params, { daemon }) => ({
  active: daemon.scheduler.activeCount,
  waiting: daemon.scheduler.waitingCount,
  requests: [...daemon.generations].slice(0, most).map((generation) => generation.progress()),
});
