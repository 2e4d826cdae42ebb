import { LineFault } from './sample-line.js';

/**
 * The cells of a line, without the blanks around them. A cell in double quotes may hold the delimiter, and a quote written twice.
 *
 * @throws LineFault a quote that nothing closes
 */
export function splitRow(line: string, delimiter: string): string[] {
  if (!line.includes('"')) return line.split(delimiter).map((cell) => cell.trim());
  const cells: string[] = [];
  let rest = line;
  for (;;) {
    const quoted = /^\s*"((?:[^"]|"")*)"\s*/.exec(rest);
    const end = quoted?.[0].length ?? rest.indexOf(delimiter);
    const cut = quoted === null && end < 0 ? rest.length : end;
    const text = quoted?.[1]?.replaceAll('""', '"') ?? rest.slice(0, cut).trim();
    if (quoted === null && text.includes('"')) throw new LineFault('expected a closing quote, found none');
    cells.push(text);
    rest = rest.slice(cut);
    if (rest === '') return cells;
    if (!rest.startsWith(delimiter)) throw new LineFault(`expected a delimiter after "${text.slice(0, 40)}"`);
    rest = rest.slice(delimiter.length);
  }
}

/** The delimiter that a line has most of: semicolon, tab or comma; a comma is none where it is the decimal point. */
export function guessDelimiter(line: string, decimalComma: boolean): string {
  const bare = line.replace(/"[^"]*"/g, '');
  const candidates = decimalComma ? [';', '\t'] : [';', '\t', ','];
  const counted = candidates.map((mark) => ({ mark, count: bare.split(mark).length - 1 }));
  return counted.reduce((a, b) => (b.count > a.count ? b : a)).mark;
}
