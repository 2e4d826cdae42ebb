import { destination, pino, type Logger } from 'pino';
import type { Config } from './config.js';

export type { Logger };

/** JSON lines on stderr. Prompts and texts are never logged. */
export function openLog(level: Config['logLevel']): Logger {
  const stderr = destination({ fd: 2, sync: true });
  // Whoever reads the log may go; the daemon stays.
  stderr.on('error', () => undefined);
  return pino({ level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"` }, stderr);
}
