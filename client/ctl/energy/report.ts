import { Command } from 'commander';
import { printLine } from '../output.js';
import { writeReport } from './write-report.js';

interface ReportOptions {
  output?: string;
}

export function reportCommand(): Command {
  return new Command('report')
    .description("an experiment's report for people: Markdown, JSON and pictures")
    .argument('<dir>', 'folder of an experiment, as `energy run` leaves it')
    .option('-o, --output <dir>', 'folder for the files (default: the experiment’s own)')
    .addHelpText(
      'after',
      `
Writes report.md, result.json, paired.svg (differences by block), runs.svg (J/token of every run) and trace.svg (power
over time), computed from the raw files of the folder: nothing else is needed, and the same folder gives the same files.`,
    )
    .action(async (dir: string, { output = dir }: ReportOptions) => {
      const { paths } = await writeReport(dir, output);
      await printLine(paths.join('\n'));
    });
}
