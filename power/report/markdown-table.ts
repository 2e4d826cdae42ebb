/** A table in Markdown, the first column to the left, the others to the right where they are numbers. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  others: 'numbers' | 'words' = 'numbers',
): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escape).join(' | ')} |`;
  return [
    line(head),
    line(head.map((_, i) => (i === 0 || others === 'words' ? '---' : '---:'))),
    ...rows.map(line),
  ].join('\n');
}

function escape(cell: string): string {
  return cell.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
