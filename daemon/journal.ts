import { levels } from 'pino';

interface Sink {
  write(line: string): void;
  flush(): void;
}

/** Priorities of syslog(3) by the names of our levels. */
const priorities: Record<string, number> = { fatal: 2, error: 3, warn: 4, info: 6, debug: 7, trace: 7 };

/** A text as the journal takes it: the priority is that of one line. */
export function inJournal(level: string, text: string): string {
  return text
    .split('\n')
    .map((line) => `<${priorities[level] ?? 6}>${line}\n`)
    .join('');
}

/** Turns the logger's JSON lines into `<priority>message key=value`: the journal keeps the time, and who wrote them. */
export function journalLines(out: Sink): Sink {
  return {
    flush: () => out.flush(),
    write(json: string): void {
      const { level, msg, ...fields } = JSON.parse(json) as Record<string, unknown>;
      const pairs = Object.entries(fields).map(([key, value]) => `${key}=${shown(value)}`);
      out.write(inJournal(levels.labels[Number(level)] ?? 'info', [msg, ...pairs].join(' ')));
    },
  };
}

/** Bare where nothing in it could be taken for something else; JSON has no line ends. */
function shown(value: unknown): string {
  return typeof value === 'string' && /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value);
}
