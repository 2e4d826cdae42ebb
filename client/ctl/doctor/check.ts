import type { Client, Result } from '../../index.js';
import type { SpikedError } from '../../protocol/errors.js';

/** One thing that was looked at. `warn`: works, but not as it could; `fail`: does not work. */
export interface Check {
  name: string;
  status: 'ok' | 'warn' | 'fail';
  text: string;
  /** What to do about it. */
  fix?: string;
}

export const ok = (name: string, text: string): Check => ({ name, status: 'ok', text });
export const warn = (name: string, text: string, fix: string): Check => ({ name, status: 'warn', text, fix });
export const fail = (name: string, text: string, fix: string): Check => ({ name, status: 'fail', text, fix });

/** What is looked at. */
export interface Subject {
  socketPath: string;
  /** The daemon that answers there, or why none does. */
  daemon: RunningDaemon | SpikedError;
  /** Model files that are the product's, the configuration's, the daemon's, or asked for. */
  models: readonly string[];
}

export interface RunningDaemon {
  client: Client;
  info: Result<'server.info'>;
}

export function isRunning(daemon: Subject['daemon']): daemon is RunningDaemon {
  return 'client' in daemon;
}

export const mib = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;
