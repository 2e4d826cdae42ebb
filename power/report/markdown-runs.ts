import { markdownTable } from './markdown-table.js';
import type { Result, RunResult, WindowName } from './result.js';
import { shortNumber, withUncertainty } from './words.js';

/** Both windows of every run: its figures, or why it has none. */
export function runsTable({ runs, window }: Result): string {
  const other: WindowName = window === 'decode' ? 'full' : 'decode';
  return markdownTable(
    [
      'run', 'arm', `J/token, ${window}`, 'net of idle', 'paper’s figure', 'W', 'tokens/s', 'coverage', 'largest gap, s', `J/token, ${other}`, 'tokens', 'ids', '°C', 'verdict',
    ],
    runs.map((run) => row(run, window, other)),
  ); // prettier-ignore
}

function row(run: RunResult, window: WindowName, other: WindowName): string[] {
  const { figures } = run[window];
  const again = run.attempt > 1 ? ` (attempt ${run.attempt})` : '';
  return [
    `${run.block}-${run.slot}${again}`,
    run.arm,
    withUncertainty(figures.j_per_token),
    withUncertainty(figures.net_j_per_token),
    withUncertainty(figures.paper_trimmed_j_per_token),
    withUncertainty(figures.mean_watts),
    shortNumber(figures.tokens_per_second),
    figures.coverage === null ? '–' : `${(100 * figures.coverage).toFixed(1)} %`,
    shortNumber(figures.largest_gap_s),
    withUncertainty(run[other].figures.j_per_token),
    String(run.tokens),
    run.ids_equal === null ? '–' : run.ids_equal ? 'equal' : 'DIFFER',
    run.before.celsius === null ? '–' : `${run.before.celsius.toFixed(1)} → ${run.after.celsius?.toFixed(1) ?? '–'}`,
    verdictOf(run, window),
  ]; // prettier-ignore
}

function verdictOf(run: RunResult, window: WindowName): string {
  const { valid, reasons, resolution_limited: limited } = run[window].figures;
  if (!valid) return `invalid: ${reasons.map(({ reason }) => reason).join(', ')}`;
  const said = limited ? 'valid, resolution-limited' : 'valid';
  return run.used ? said : `${said}, not used`;
}
