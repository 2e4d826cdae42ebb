import { printJson, printLine, table } from '../output.js';
import type { FileAction, FileStep } from './files.js';
import type { CommandLine } from './systemd.js';

/** What became of the system, or would. */
export interface Report {
  steps: readonly FileStep[];
  commands: readonly CommandLine[];
  dryRun: boolean;
  /** Whether a systemd runs here that the commands are for. */
  runs: boolean;
}

const done: Record<FileAction, string> = {
  write: 'wrote',
  replace: 'replaced',
  same: 'unchanged',
  keep: 'kept',
  remove: 'removed',
  absent: 'was gone',
};

export async function printReport(report: Report, json: true | undefined): Promise<void> {
  const { steps, commands, dryRun, runs } = report;
  if (json) {
    await printJson({ dry_run: dryRun, files: steps, commands, ran: runs && !dryRun });
    return;
  }
  const verb = (action: FileAction) =>
    dryRun && ['write', 'replace', 'remove'].includes(action) ? `would ${action}` : done[action];
  const note = (action: FileAction) => (action === 'keep' ? '(not as service install wrote it)' : '');
  const command = dryRun ? 'would run' : runs ? 'ran' : 'to run there';
  await printLine(
    table([
      ...steps.map(({ path, action }) => [verb(action), path, note(action)]),
      ...(dryRun && !runs ? [] : commands.map((line) => [command, line.join(' '), ''])),
    ]),
  );
}
