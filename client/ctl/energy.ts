import { Command } from 'commander';
import { analyzeCommand } from './energy/analyze.js';
import { reportCommand } from './energy/report.js';
import { energyRunCommand } from './energy/run.js';

export function energyCommand(): Command {
  return new Command('energy')
    .description('joules per token from a wall meter: experiments, their figures, their report')
    .addCommand(energyRunCommand())
    .addCommand(analyzeCommand())
    .addCommand(reportCommand());
}
