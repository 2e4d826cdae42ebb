import type { NativeEngine } from '../../native/host/index.js';
import type { Logger } from '../log.js';
import type { ServiceManager } from './manager.js';
import { longestLoadMs } from './patience.js';

type Progress = ReturnType<NativeEngine['progress']>;

/** Judges by what an engine says of itself at each look whether it works. */
export class EngineWatch {
  private last: Progress = { count: 0, pending: 0 };
  private lastSignMs = 0;
  private loadingSinceMs: number | undefined;

  /** @param patienceMs  how long calls may wait while nothing is computed */
  constructor(private readonly patienceMs: number) {}

  /** A model that loads computes nothing and keeps the others waiting: that is work, for as long as a load may take. */
  works(now: Progress, loading: boolean, nowMs: number): boolean {
    const { last } = this;
    this.last = now;
    this.loadingSinceMs = loading ? (this.loadingSinceMs ?? nowMs) : undefined;
    const loads = this.loadingSinceMs !== undefined && nowMs - this.loadingSinceMs < longestLoadMs;
    if (loads || now.pending === 0 || last.pending === 0 || now.count !== last.count) this.lastSignMs = nowMs;
    return nowMs - this.lastSignMs < this.patienceMs;
  }
}

/** Gives the service manager signs of life while the engine works or has nothing to do. Returns what ends it. */
export function startWatchdog(
  manager: ServiceManager,
  watched: { engine: NativeEngine; models: { readonly isLoading: boolean }; log: Logger },
): () => void {
  const { watchdogMs } = manager;
  if (!manager.present || watchdogMs === undefined) return () => undefined;
  const watch = new EngineWatch(watchdogMs / 2);
  const look = (): void => {
    const { engine, models, log } = watched;
    if (watch.works(engine.progress(), models.isLoading, performance.now())) manager.signOfLife();
    else log.error(engine.progress(), 'the engine makes no progress: the watchdog gets no sign of life');
  };
  look();
  const timer = setInterval(look, watchdogMs / 4);
  return () => {
    clearInterval(timer);
  };
}
