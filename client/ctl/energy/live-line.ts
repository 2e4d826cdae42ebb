/** One line on a terminal that is written again and again; nothing in a pipe or a log. */
export interface LiveLine {
  show(text: string): void;
  end(): void;
}

const clear = '\r\u001b[K';

export function liveLine(): LiveLine {
  const { stderr } = process;
  if (!stderr.isTTY) return { show: () => undefined, end: () => undefined };
  let shown = false;
  return {
    show(text) {
      shown = true;
      stderr.write(`${clear}${text.slice(0, (stderr.columns || 80) - 1)}`);
    },
    end() {
      if (shown) stderr.write(clear);
    },
  };
}
