import { pino, type Logger } from 'pino';
import type { Config } from './config.js';
import { LogWriter, type Writable } from './log-writer.js';

export type { Logger };

/** JSON lines on stderr. Prompts and texts are never logged. */
export function openLog(level: Config['logLevel'], writable: Writable): Logger {
  const stderr = new LogWriter(2, writable, (lines) => {
    log.warn({ lines }, 'lines of the log were lost: nobody took them');
  });
  const timestamp = (): string => `,"time":"${new Date().toISOString()}"`;
  const log: Logger = pino({ level, base: null, timestamp }, stderr);
  return log;
}
