import { fileKey } from './config-file.js';
import { readConfig, settings as table, type Config, type DaemonOptions } from './config.js';
import { limitNames, schedulerLimits } from './limits.js';
import type { Connections } from './rpc/connections.js';
import type { DaemonState } from './state.js';

/** Settings that a running daemon takes over; the others need a restart. */
const live: ReadonlySet<keyof Config> = new Set<keyof Config>([
  'allowUids',
  'allowGids',
  'logLevel',
  'logText',
  'drainMs',
  'slowReaderMs',
  'messageMs',
  'sessionIdleMs',
]);
/** Tokenizers hold it. */
const fixedLimit = 'max_text_bytes';

/** Names as in a configuration file. */
export interface Reloaded {
  changed: string[];
  needsRestart: string[];
}

/**
 * Takes over what may change while the daemon runs, for open connections, too.
 *
 * @throws SpikedError ERR_CONFIG_INVALID, ERR_SOCKET_PATH; then nothing has changed
 */
export function reload(state: DaemonState, connections: Connections, options: DaemonOptions): Reloaded {
  const next = readConfig(options);
  const now = state.config;
  const differs = (a: unknown, b: unknown): boolean => JSON.stringify(a) !== JSON.stringify(b);
  const names = Object.keys(table.shape) as (keyof Config)[];
  const settings = names.filter((name) => name !== 'limits' && differs(now[name], next[name]));
  const limits = limitNames.filter((name) => now.limits[name] !== next.limits[name]);
  const taken = Object.fromEntries(
    settings.filter((name) => live.has(name)).map((name) => [name, next[name]]),
  );
  state.config = {
    ...now,
    ...taken,
    limits: { ...next.limits, [fixedLimit]: now.limits[fixedLimit] },
  };
  state.scheduler.setLimits(schedulerLimits(state.config.limits));
  state.sessions.setLimits(state.config.limits);
  state.log.level = state.config.logLevel;
  connections.reload();
  return {
    changed: [...Object.keys(taken).map(fileKey), ...limits.filter((name) => name !== fixedLimit)],
    needsRestart: [
      ...settings.filter((name) => !live.has(name)).map(fileKey),
      ...limits.filter((name) => name === fixedLimit),
    ],
  };
}
