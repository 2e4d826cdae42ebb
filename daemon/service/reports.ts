import type { DaemonState } from '../state.js';
import type { ServiceManager } from './manager.js';
import { startWatchdog } from './watchdog.js';

const statusEveryMs = 2_000;

/** What `systemctl status` shows of a daemon that serves. */
export function statusOf({ models, scheduler, stopping }: DaemonState): string {
  const { activeCount, waitingCount } = scheduler;
  return `${stopping ? 'stopping' : 'ready'}: ${models.names.join(', ')}; ${activeCount} active, ${waitingCount} waiting`;
}

/** Keeps the service manager told while the daemon serves. Returns what ends it. */
export function startReports(manager: ServiceManager, state: DaemonState): () => void {
  if (!manager.present) return () => undefined;
  let told = statusOf(state);
  const timer = setInterval(() => {
    const now = statusOf(state);
    if (now !== told) manager.status(now);
    told = now;
  }, statusEveryMs);
  const endWatchdog = startWatchdog(manager, state);
  return () => {
    clearInterval(timer);
    endWatchdog();
  };
}
