import type { Ear, Mouth } from '../speaker.js';

/** Answers one command, null for none. A promise holds all later commands back until it is kept, as `:COMM:WAIT` does. */
export type Obey = (header: string, argument: string) => string | null | Promise<null>;

/**
 * The text side of an instrument: commands end with LF or CR, `;` joins several; answers end with `end`. Headers come in capitals, short
 * or long as they were sent, without the colon in front.
 */
export function scpiEar(mouth: Mouth, end: string, obey: Obey): Ear {
  let heard = '';
  let turn: Promise<unknown> = Promise.resolve();
  return (bytes) => {
    const parts = (heard + Buffer.from(bytes).toString('latin1')).split(/[\r\n]+/);
    heard = (parts.pop() ?? '').slice(-1000);
    for (const line of parts)
      for (const command of line.split(';').filter((text) => text.trim() !== ''))
        turn = turn.then(async () => {
          const [, header = '', argument = ''] = /^:?(\S+)\s*(.*)$/.exec(command.trim()) ?? [];
          const answer = await obey(header.toUpperCase(), argument.trim());
          if (answer !== null) mouth.say(Buffer.from(answer + end, 'latin1'), 3);
        });
  };
}

/**
 * Whether a header is this command: each word by its capitals alone or whole. `:NUMeric[:NORMal]:VALue?` is written
 * `NUMeric:NORMal:VALue?`.
 */
export function isCommand(header: string, command: string): boolean {
  const words = header.split(':');
  const wanted = command.split(':');
  return (
    words.length === wanted.length &&
    wanted.every((word, i) => {
      const query = word.endsWith('?') ? '?' : '';
      const short = word.replace(/[^A-Z0-9*]/g, '') + query;
      return words[i] === word.toUpperCase() || words[i] === short;
    })
  );
}

/** `10.4E+00` in five digits; no number at all is `NAN`. */
export function engineering(value: number, digits: number): string {
  if (Number.isNaN(value)) return 'NAN';
  if (!Number.isFinite(value)) return 'INF';
  const power = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)) / 3) * 3;
  const sign = power < 0 ? '-' : '+';
  return `${(value / 10 ** power).toPrecision(digits)}E${sign}${String(Math.abs(power)).padStart(2, '0')}`;
}
