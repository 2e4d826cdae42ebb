import { fstatSync } from 'node:fs';
import { pino, type Logger } from 'pino';
import type { Config } from './config.js';
import { inJournal, journalLines } from './journal.js';
import { LogWriter, type Writable } from './log-writer.js';

export type { Logger };

const stderrFd = 2;

/** Lines on stderr: for the journal where stderr is one, else JSON. Prompts and texts are not logged unless asked for. */
export function openLog(level: Config['logLevel'], writable: Writable): Logger {
  const stderr = new LogWriter(stderrFd, writable, (lines) => {
    log.warn({ lines }, 'lines of the log were lost: nobody took them');
  });
  const timestamp = (): string => `,"time":"${new Date().toISOString()}"`;
  const log: Logger = stderrIsJournal()
    ? pino({ level, base: null, timestamp: false }, journalLines(stderr))
    : pino({ level, base: null, timestamp }, stderr);
  return log;
}

/** What the program says of its end, beside the log. */
export function sayOnStderr(text: string): void {
  process.stderr.write(stderrIsJournal() ? inJournal('error', text) : `${text}\n`);
}

/** systemd says which file the journal's end of stdout and stderr is; either may have been led elsewhere since. */
function stderrIsJournal(): boolean {
  const { dev, ino } = fstatSync(stderrFd, { bigint: true });
  return process.env['JOURNAL_STREAM'] === `${dev}:${ino}`;
}
