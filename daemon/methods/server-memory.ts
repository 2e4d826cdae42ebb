import type { Handler } from './handler.js';

export const serverMemory: Handler<'server.memory'> = (_params, { daemon }) => {
  const ledger = daemon.engine.memory();
  const { budgetBytes, ...promised } = ledger;
  const { residentBytes, lockedBytes } = daemon.models.mapped();
  return {
    rss_bytes: process.memoryUsage.rss(),
    budget_bytes: budgetBytes,
    reserved_bytes: Object.values(promised).reduce((sum, bytes) => sum + bytes, 0),
    base_bytes: ledger.baseBytes,
    weights_bytes: ledger.weightsBytes,
    weights_resident_bytes: residentBytes,
    weights_locked_bytes: lockedBytes,
    copied_bytes: ledger.copiesBytes,
    session_bytes: ledger.sessionsBytes,
    scratch_bytes: ledger.scratchBytes,
    prefix_cache_bytes: ledger.prefixCacheBytes,
    prefix_cache_used_bytes: daemon.models.prefixCacheBytes,
  };
};
