const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';

/** The terminal's second screen, for as long as `work` lasts: what was there before comes back however it ends. */
export async function withScreen<T>(
  work: (draw: (lines: readonly string[]) => void) => Promise<T>,
): Promise<T> {
  const { stdout } = process;
  const restore = (): void => void stdout.write(leave);
  // Also when something else ends the process.
  process.once('exit', restore);
  stdout.write(enter);
  try {
    return await work((lines) => {
      // A terminal that does not know its size says 0.
      const [columns, rows] = [stdout.columns || 80, stdout.rows || 24];
      const shown = lines.slice(0, rows - 1).map((line) => `${line.slice(0, columns)}${clearLine}\r\n`);
      stdout.write(`${home}${shown.join('')}${clearBelow}`);
    });
  } finally {
    process.off('exit', restore);
    restore();
  }
}
