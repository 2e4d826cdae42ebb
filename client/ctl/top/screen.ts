const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';

/** The terminal's second screen, for as long as `work` lasts: what was there before comes back however it ends, and while Ctrl-Z stops it. */
export async function withScreen<T>(
  work: (draw: (lines: readonly string[]) => void) => Promise<T>,
): Promise<T> {
  const screen = new Screen();
  try {
    return await work((lines) => {
      screen.draw(lines);
    });
  } finally {
    screen.close();
  }
}

/** Writes to a terminal are done when write() returns, so each of them comes before the stop or the end that follows it. */
class Screen {
  private lines: readonly string[] = [];
  private entered = false;

  constructor() {
    // Also when something else ends the process.
    process.once('exit', this.restore);
    process.on('SIGTSTP', this.suspend);
    process.on('SIGCONT', this.resume);
    this.resume();
  }

  draw(lines: readonly string[]): void {
    this.lines = lines;
    if (this.entered) this.paint();
  }

  close(): void {
    process.off('exit', this.restore);
    process.off('SIGTSTP', this.suspend);
    process.off('SIGCONT', this.resume);
    this.restore();
  }

  private readonly restore = (): void => {
    if (this.entered) process.stdout.write(leave);
    this.entered = false;
  };

  private readonly suspend = (): void => {
    this.restore();
    // Without a listener the signal stops the process, and its shell learns why.
    process.off('SIGTSTP', this.suspend);
    process.kill(process.pid, 'SIGTSTP');
    process.on('SIGTSTP', this.suspend);
    // A process that no shell could continue is not stopped, and gets no SIGCONT.
    this.resume();
  };

  /** After a SIGSTOP, which nobody hears, the screen is still the second one; others may have written on it. */
  private readonly resume = (): void => {
    if (!this.entered) process.stdout.write(enter);
    this.entered = true;
    this.paint();
  };

  private paint(): void {
    const { stdout } = process;
    // A terminal that does not know its size says 0.
    const [columns, rows] = [stdout.columns || 80, stdout.rows || 24];
    const shown = this.lines.slice(0, rows - 1).map((line) => `${line.slice(0, columns)}${clearLine}\r\n`);
    stdout.write(`${home}${shown.join('')}${clearBelow}`);
  }
}
