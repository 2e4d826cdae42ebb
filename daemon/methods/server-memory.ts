import type { Handler } from './handler.js';

export const serverMemory: Handler<'server.memory'> = (_params, { daemon }) => ({
  rss_bytes: process.memoryUsage.rss(),
  model_bytes: daemon.models.modelBytes,
  copied_bytes: daemon.engine.loading === 'huge_pages' ? daemon.models.modelBytes : 0,
  prefix_cache_bytes: daemon.models.prefixCacheBytes,
  session_bytes:
    daemon.sessions.stateBytes +
    [...daemon.generations].reduce((sum, generation) => sum + generation.stateBytes, 0),
});
