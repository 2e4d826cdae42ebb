import { once } from 'node:events';

/** Writes to stdout and waits while the reader is behind, so that a long stream needs no memory. */
export async function print(data: string | Uint8Array): Promise<void> {
  if (!process.stdout.write(data)) await once(process.stdout, 'drain');
}

export function printLine(line: string): Promise<void> {
  return print(`${line}\n`);
}

/** One JSON value on one line; 64-bit integers are written as integers. */
export function printJson(value: unknown): Promise<void> {
  return printLine(toJson(value));
}

export function toJson(value: unknown): string {
  const integers: string[] = [];
  const text = JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== 'bigint') return item;
    integers.push(item.toString());
    return `\u0000${integers.length - 1}`;
  });
  return text.replace(/"\\u0000(\d+)"/g, (_match, index: string) => integers[Number(index)] ?? '0');
}

/** A remark for people: stderr, so that stdout stays what was asked for. */
export function remark(line: string): void {
  process.stderr.write(`spikectl: ${line}\n`);
}

export type Align = 'left' | 'right';

/** Columns padded to their widest cell. */
export function table(rows: readonly (readonly string[])[], align: readonly Align[] = []): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.length)));
  const pad = (cell: string, i: number) =>
    align[i] === 'right' ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0);
  return rows.map((row) => row.map(pad).join('  ').trimEnd()).join('\n');
}

/** A reader that went away (`| head`) ends the program quietly, as SIGPIPE would. */
export function exitWhenReaderLeaves(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(141);
    remark(`ERR_FILE_IO: standard output: expected room for the answer, found ${error.message}`);
    process.exit(1);
  });
}
